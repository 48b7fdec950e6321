import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor,
    charger_pose: Tensor,
    charger_pos: Tensor,
    goal_pose: Tensor,
    goal_pos: Tensor,
    is_grasped: Tensor,
    obj_to_goal_dist: Tensor,
    obj_to_goal_angle: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the gripper takes the charger at the middle of its base
    back = torch.zeros_like(charger_pos)
    back[:, 0] = -0.02
    base = charger_pos + quat_rotate(charger_pose[:, 3:7], back)
    reach = 1.0 - torch.tanh(5.0 * torch.norm(tcp_pos - base, dim=-1))

    # it comes onto the slots' axis, turned as it should be
    offset = quat_rotate_inverse(goal_pose[:, 3:7], charger_pos - goal_pos)
    off = torch.norm(offset[:, 1:3], dim=-1)
    near = 1.0 - torch.tanh(5.0 * obj_to_goal_dist)
    line_up = is_grasped * (near + 1.0 - torch.tanh(10.0 * off) + 1.0 - torch.tanh(2.0 * obj_to_goal_angle))

    # and goes in
    lined_up = is_grasped * ((off < 0.005) & (obj_to_goal_angle < 0.2)).float()
    insert = 5.0 * lined_up * (1.0 - torch.tanh(20.0 * torch.abs(offset[:, 0])))

    done = (obj_to_goal_dist <= 0.005) & (obj_to_goal_angle <= 0.2)
    total_reward = torch.where(done, torch.full_like(reach, 10.0), reach + is_grasped + line_up + insert)
    return total_reward, {
        "reach": reach,
        "grasp": is_grasped,
        "line_up": line_up,
        "insert": insert,
        "done": done.float(),
    }
