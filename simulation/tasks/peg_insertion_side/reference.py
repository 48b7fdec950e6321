import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor,
    peg_pose: Tensor,
    peg_pos: Tensor,
    peg_head_pos: Tensor,
    peg_half_size: Tensor,
    box_hole_pose: Tensor,
    box_hole_pos: Tensor,
    box_hole_radius: Tensor,
    is_grasped: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the gripper takes the peg behind its middle
    along = (peg_head_pos - peg_pos) / peg_half_size[:, 0:1]
    reach = 1.0 - torch.tanh(4.0 * torch.norm(tcp_pos - (peg_pos - 0.06 * along), dim=-1))

    # both the peg's head and its middle come onto the hole's axis
    head = quat_rotate_inverse(box_hole_pose[:, 3:7], peg_head_pos - box_hole_pos)
    middle = quat_rotate_inverse(box_hole_pose[:, 3:7], peg_pos - box_hole_pos)
    head_off, middle_off = torch.norm(head[:, 1:3], dim=-1), torch.norm(middle[:, 1:3], dim=-1)
    off = 0.5 * (head_off + middle_off) + 4.5 * torch.maximum(head_off, middle_off)
    line_up = 3.0 * is_grasped * (1.0 - torch.tanh(off))

    # a peg that is lined up goes in
    lined_up = is_grasped * ((head_off < 0.01) & (middle_off < 0.01)).float()
    insert = 5.0 * lined_up * (1.0 - torch.tanh(5.0 * torch.norm(head, dim=-1)))

    inside = torch.amax(torch.abs(head[:, 1:3]), dim=-1) <= box_hole_radius
    done = inside & (head[:, 0] >= -0.015)
    total_reward = torch.where(done, torch.full_like(reach, 10.0), reach + is_grasped + line_up + insert)
    return total_reward, {
        "reach": reach,
        "grasp": is_grasped,
        "line_up": line_up,
        "insert": insert,
        "done": done.float(),
    }
