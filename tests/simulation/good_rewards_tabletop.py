"""Rewards in the style of published, generated ones, for the tasks of a Panda at a table."""

PUSH_CUBE = {
    "staged": """
import torch
from typing import Tuple, Dict
from torch import Tensor
@torch.jit.script
def compute_reward(tcp_pose: Tensor, obj_pose: Tensor, goal_pos: Tensor, robot_qvel: Tensor,
                   actions: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    tcp_pos, cube_pos = tcp_pose[:, :3], obj_pose[:, :3]
    push_pos = cube_pos.clone()
    push_pos[:, 0] = push_pos[:, 0] - 0.025
    reach_dist = torch.linalg.norm(tcp_pos - push_pos, dim=1)
    reaching = 1 - torch.tanh(5 * reach_dist)
    goal_dist = torch.linalg.norm(cube_pos[..., :2] - goal_pos[..., :2], dim=1)
    placing = (1 - torch.tanh(5 * goal_dist)) * (reach_dist < 0.02).float()
    smooth = -0.01 * torch.sum(actions ** 2, dim=-1) - 0.001 * torch.sum(robot_qvel[:, :7] ** 2, dim=-1)
    reward = reaching + 2.0 * placing + smooth
    reward[goal_dist < 0.1] = 5.0
    return reward, {"reaching": reaching, "placing": placing, "smooth": smooth}
""",
    "exponential": """
def compute_reward(tcp_pos, obj_pos, goal_pos, robot_qpos):
    near = torch.exp(-10.0 * torch.norm(tcp_pos - obj_pos, dim=-1))
    pushed = torch.exp(-5.0 * torch.norm(obj_pos[:, :2] - goal_pos[:, :2], dim=-1))
    closed = 1.0 - torch.mean(robot_qpos[:, 7:9], dim=-1) / 0.04
    return near + 4.0 * pushed + 0.1 * closed, {"near": near, "pushed": pushed, "closed": closed}
""",
}
PICK_CUBE = {
    "grasp_and_lift": """
import torch
def compute_reward(tcp_pos: torch.Tensor, obj_pos: torch.Tensor, goal_pos: torch.Tensor, is_grasped: torch.Tensor,
                   robot_qvel: torch.Tensor):
    reach_reward = 1.0 - torch.tanh(5.0 * torch.linalg.norm(obj_pos - tcp_pos, dim=-1))
    lifted = torch.clamp((obj_pos[:, 2] - 0.02) / 0.1, 0.0, 1.0) * is_grasped
    goal_dist = torch.linalg.norm(goal_pos - obj_pos, dim=-1)
    place_reward = torch.where(is_grasped > 0.5, torch.exp(-goal_dist / 0.1), torch.zeros_like(goal_dist))
    still = torch.exp(-torch.linalg.norm(robot_qvel[:, :7], dim=-1)) * (goal_dist < 0.025)
    total = reach_reward + is_grasped + lifted + 3.0 * place_reward + still
    return total, {"reach": reach_reward, "grasp": is_grasped, "lift": lifted, "place": place_reward, "still": still}
""",
    "relative": """
def compute_reward(tcp_to_obj_pos, obj_to_goal_pos, is_grasped, tcp_pose):
    down = -quat_rotate(tcp_pose[:, 3:7], torch.tensor([0.0, 0.0, 1.0]).repeat(tcp_pose.shape[0], 1))[:, 2]
    reach = 1.0 / (1.0 + 10.0 * tcp_to_obj_pos.norm(dim=-1))
    carry = is_grasped / (1.0 + 10.0 * obj_to_goal_pos.norm(dim=-1))
    return reach + 2.0 * carry + 0.1 * down, {"reach": reach, "carry": carry, "down": down}
""",
}
PULL_CUBE = {
    name: source.replace("push_pos[:, 0] - 0.025", "push_pos[:, 0] + 0.03") for name, source in PUSH_CUBE.items()
}
ROLL_BALL = {
    "hit": """
import torch
def compute_reward(tcp_pos, ball_pose, ball_vel, goal_pos, reached_status):
    ball = ball_pose[:, :3]
    to_goal = torch.nn.functional.normalize(goal_pos[:, :2] - ball[:, :2], dim=-1)
    speed = torch.sum(ball_vel[:, :2] * to_goal, dim=-1)
    hit = ball - 0.085 * torch.cat((to_goal, torch.zeros_like(speed).unsqueeze(-1)), dim=-1)
    reach = torch.exp(-4.0 * torch.norm(tcp_pos - hit, dim=-1)) * (1.0 - reached_status)
    roll = reached_status * torch.clamp(speed, min=0.0, max=2.0)
    return reach + 5.0 * roll + reached_status, {"reach": reach, "roll": roll, "reached": reached_status}
""",
    "distance": """
def compute_reward(tcp_to_ball_pos, ball_to_goal_pos):
    reach = -torch.norm(tcp_to_ball_pos, dim=-1)
    goal = -torch.norm(ball_to_goal_pos[:, 0:2], dim=-1)
    return 0.2 * reach + goal, {"reach": reach, "goal": goal}
""",
}


def write_pair(thing: str, goal: str, extra: str) -> dict[str, str]:
    """Two rewards for a task in which a thing, read by one expression, goes to a goal, read by another."""
    arguments = ", ".join(sorted({thing.split("[")[0], goal.split("[")[0], extra, "tcp_pos", "actions"}))
    tanh = f"""
import torch
def compute_reward({arguments}):
    reach = 1.0 - torch.tanh(5.0 * torch.linalg.norm(tcp_pos - {thing}, dim=-1))
    place = (1.0 - torch.tanh(5.0 * torch.linalg.norm({thing} - {goal}, dim=-1))) * {extra}
    cost = -0.01 * torch.sum(actions ** 2, dim=-1)
    reward = reach + 2.0 * place + cost
    return reward, {{"reach": reach, "place": place, "cost": cost}}
"""
    exponential = tanh.replace("1.0 - torch.tanh(5.0 *", "torch.exp(-8.0 *")
    return {"tanh": tanh, "exponential": exponential}


GOOD = {
    "PushCube": PUSH_CUBE,
    "PullCube": PULL_CUBE,
    "PickCube": PICK_CUBE,
    "RollBall": ROLL_BALL,
    "LiftPegUpright": write_pair("obj_pos", "obj_pose[:, 0:3]", "is_grasped"),
    "PokeCube": write_pair("cube_pos", "goal_pos", "is_grasped"),
    "PlaceSphere": write_pair("obj_pos", "bin_pos", "is_grasped"),
    "StackCube": write_pair("cubeA_pos", "cubeB_pos", "is_grasped"),
    "PullCubeTool": write_pair("cube_pos", "tool_pos", "is_grasped"),
    "PushT": write_pair("obj_pos", "goal_pos", "inter_area"),
    "PegInsertionSide": write_pair("peg_head_pos", "box_hole_pos", "is_grasped"),
    "PlugCharger": write_pair("charger_pos", "goal_pos", "is_grasped"),
}
