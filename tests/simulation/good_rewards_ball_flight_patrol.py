"""More of good_rewards: BallBalance, Quadcopter and Ant's two other tasks."""

BALL_BALANCE = {
    "distance_and_speed": """
import torch
from torch import Tensor
from typing import Tuple, Dict

@torch.jit.script
def compute_reward(ball_positions: Tensor, ball_linvels: Tensor, tray_positions: Tensor,
                   actions: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    ball_dist = torch.sqrt(ball_positions[..., 0] * ball_positions[..., 0] +
                           ball_positions[..., 1] * ball_positions[..., 1] +
                           (ball_positions[..., 2] - 0.7) * (ball_positions[..., 2] - 0.7))
    ball_speed = torch.sqrt(torch.sum(ball_linvels ** 2, dim=-1))
    centre = torch.exp(-torch.norm(ball_positions[:, :2] - tray_positions[:, :2], dim=-1) / 0.2)
    pos_reward = 1.0 / (1.0 + ball_dist)
    speed_reward = 1.0 / (1.0 + ball_speed)
    effort = -0.01 * torch.sum(actions ** 2, dim=-1)
    return pos_reward * speed_reward + 0.5 * centre + effort, {"pos": pos_reward, "speed": speed_reward,
                                                               "centre": centre, "effort": effort}
""",
    "load_on_the_legs": """
import torch
def compute_reward(ball_positions, dof_positions, dof_velocities, sensor_forces, sensor_torques):
    on_tray = (ball_positions[:, 2] > 0.5).float()
    load = sensor_forces[:, :, 2]
    even = torch.exp(-torch.std(load, dim=1) / 20.0)
    level = 1.0 / (1.0 + torch.sum(dof_positions[:, 1::2] ** 2, dim=1))
    twist = torch.tanh(torch.norm(sensor_torques.view(-1, 9), dim=-1) / 20.0)
    slow = torch.tanh(0.1 * torch.mean(torch.abs(dof_velocities), dim=1))
    total = on_tray * (1.0 + even) + 0.3 * level - 0.1 * twist - 0.1 * slow
    return total, {"on_tray": on_tray, "even": even, "level": level, "twist": -0.1 * twist, "slow": -0.1 * slow}
""",
}

QUADCOPTER = {
    "hover_in_place": """
import torch
from torch import Tensor
from typing import Dict, Tuple

@torch.jit.script
def compute_reward(root_positions: Tensor, root_quats: Tensor, root_linvels: Tensor, root_angvels: Tensor,
                   actions: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    device = root_positions.device
    target = torch.tensor([0.0, 0.0, 1.0], device=device)
    distance_temperature: float = 0.5
    distance = torch.norm(root_positions - target, dim=-1)
    distance_reward = torch.exp(-distance / distance_temperature)
    up = torch.zeros_like(root_positions)
    up[:, 2] = 1.0
    tilt = 1.0 - quat_rotate(root_quats, up)[:, 2]
    tilt_reward = torch.exp(-tilt)
    spin_reward = torch.exp(-0.1 * torch.norm(root_angvels, dim=-1))
    still = torch.exp(-torch.norm(root_linvels, dim=-1)) * (distance < 0.3).float()
    total = 2.0 * distance_reward + distance_reward * (tilt_reward + spin_reward) + still
    return total, {"distance": distance_reward, "tilt": tilt_reward, "spin": spin_reward, "still": still}
""",
    "thrust_near_hover": """
import torch
import math
def compute_reward(root_positions, dof_positions, dof_velocities, thrusts, actions):
    to_target = torch.stack((-root_positions[:, 0], -root_positions[:, 1], 1.0 - root_positions[:, 2]), dim=-1)
    near = 1.0 / (1.0 + torch.sum(to_target ** 2, dim=-1))
    lift = torch.exp(-torch.abs(torch.sum(thrusts, dim=-1) - 0.2515 * 9.81))
    straight = torch.cos(torch.abs(dof_positions).max(dim=-1)[0])
    calm = torch.mean(torch.abs(dof_velocities), dim=-1) / (8 * math.pi)
    effort = torch.mean(actions ** 2, dim=-1)
    return near + 0.1 * lift + 0.1 * straight - 0.01 * calm - 0.01 * effort, {
        "near": near, "lift": lift, "straight": straight, "calm": -calm, "effort": -effort}
""",
}

LIE_DOWN = {
    "belly_up": """
import torch
def compute_reward(root_states, up_vec, dof_pos, dof_vel, dof_limits_lower, dof_limits_upper, vec_sensor_tensor, dt):
    belly_up = torch.clamp(-up_vec[:, 2], 0.0, 1.0)
    feet = vec_sensor_tensor.view(-1, 4, 6)[:, :, :3]
    feet_free = (torch.norm(feet, dim=-1) < 1.0).float().mean(dim=-1)
    low = torch.exp(-torch.abs(root_states[:, 2] - 0.25) / 0.1)
    still = torch.exp(-torch.norm(root_states[:, 7:13], dim=-1)) * (belly_up > 0.9).float()
    middle = 0.5 * (dof_limits_lower + dof_limits_upper)
    relaxed = torch.exp(-torch.mean((dof_pos - middle) ** 2, dim=-1)) - dt * torch.mean(torch.abs(dof_vel), dim=-1)
    total = 2.0 * belly_up + 0.5 * feet_free * belly_up + 0.2 * low + still + 0.1 * relaxed
    return total, {"belly_up": belly_up, "feet_free": feet_free, "low": low, "still": still, "relaxed": relaxed}
""",
    "roll_over": """
import torch
def compute_reward(root_states, up_vec, heading_vec, actions):
    tilt = torch.acos(torch.clamp(up_vec[:, 2], -1.0, 1.0)) / 3.14159
    turning = torch.norm(root_states[:, 10:12], dim=-1) * (tilt < 0.8).float()
    flat = 1.0 - torch.abs(heading_vec[:, 2])
    total = tilt + 0.05 * torch.tanh(turning) + 0.1 * flat - 0.01 * (actions ** 2).sum(dim=-1)
    return total, {"tilt": tilt, "turning": turning, "flat": flat}
""",
}

PATROL = {
    "progress_in_phases": """
import torch
def compute_reward(root_states, targets, phase, potentials, prev_potentials, up_vec, actions):
    progress = potentials - prev_potentials
    distance = torch.norm(targets[:, :2] - root_states[:, :2], dim=-1)
    turned_back = phase * 1.0
    home = torch.where(phase > 0.5, torch.exp(-distance / 0.5), torch.zeros_like(distance))
    upright = (up_vec[:, 2] > 0.9).float()
    total = progress + turned_back + 2.0 * home + 0.2 * upright - 0.005 * torch.sum(actions ** 2, dim=-1)
    return total, {"progress": progress, "turned_back": turned_back, "home": home, "upright": upright}
""",
    "velocity_to_the_target": """
import torch
def compute_reward(root_states, targets, phase, heading_vec, dof_vel, actions, dof_vel_scale):
    direction = torch.nn.functional.normalize(targets[:, :2] - root_states[:, :2], dim=-1)
    speed = torch.sum(root_states[:, 7:9] * direction, dim=-1)
    facing = torch.sum(heading_vec[:, :2] * direction, dim=-1)
    energy = torch.sum(torch.abs(actions * dof_vel * dof_vel_scale), dim=-1)
    bonus = 0.5 * phase
    return torch.clamp(speed, -1.0, 3.0) + 0.3 * facing + bonus - 0.02 * energy, {
        "speed": speed, "facing": facing, "bonus": bonus, "energy": -energy}
""",
}

GOOD = {
    "BallBalance": BALL_BALANCE,
    "Quadcopter": QUADCOPTER,
    "AntLieDown": LIE_DOWN,
    "AntPatrolAndReturn": PATROL,
}
