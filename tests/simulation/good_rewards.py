"""Rewards in the style of published, generated ones. A checker that refuses one of them is wrong."""

from tests.simulation import good_rewards_anymal_franka as anymal_franka
from tests.simulation import good_rewards_ball_flight_patrol as ball_flight_patrol
from tests.simulation import good_rewards_h1 as h1
from tests.simulation import good_rewards_hands as hands
from tests.simulation import good_rewards_tabletop as tabletop
from tests.simulation import good_rewards_two_hands as two_hands

ANT = {
    "velocity_temperature": '''
import torch
from torch import Tensor
from typing import Tuple, Dict

@torch.jit.script
def compute_reward(root_states: Tensor, actions: Tensor, up_vec: Tensor, dt: float) -> Tuple[Tensor, Dict[str, Tensor]]:
    """Forward speed, uprightness and effort."""
    velocity_temperature: float = 2.0
    upright_temperature: float = 0.5
    forward_velocity = root_states[:, 7]
    velocity_reward = torch.exp(forward_velocity / velocity_temperature) - 1.0
    upright_reward = torch.exp((up_vec[:, 2] - 1.0) / upright_temperature)
    action_penalty = -0.01 * torch.sum(actions ** 2, dim=-1)
    total_reward = velocity_reward + 0.3 * upright_reward + action_penalty
    return total_reward, {"velocity_reward": velocity_reward, "upright_reward": upright_reward,
                          "action_penalty": action_penalty}
''',
    "potential_difference": """
from typing import Dict, Tuple
import torch
from torch import Tensor
@torch.jit.script
def compute_reward(potentials: torch.Tensor, prev_potentials: torch.Tensor, heading_vec: torch.Tensor,
                   dof_pos: torch.Tensor, dof_limits_lower: torch.Tensor, dof_limits_upper: torch.Tensor,
                   actions: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    device = potentials.device
    progress = potentials - prev_potentials
    heading = torch.clamp(heading_vec[:, 0], 0.0, 1.0)
    scaled = 2.0 * (dof_pos - dof_limits_lower) / (dof_limits_upper - dof_limits_lower) - 1.0
    at_limit = torch.sum(torch.abs(scaled) > 0.99, dim=-1).to(torch.float32)
    zero = torch.zeros_like(progress)
    bonus = torch.where(progress > torch.tensor(0.5, device=device), torch.ones_like(progress), zero)
    total: torch.Tensor = progress + 0.5 * heading - 0.1 * at_limit + bonus
    rewards: Dict[str, torch.Tensor] = {}
    rewards["progress"] = progress
    rewards["heading"] = heading
    rewards["at_limit"] = -0.1 * at_limit
    rewards["bonus"] = bonus
    return total, rewards
""",
    "local_velocity": """
import torch
import math
def compute_reward(root_states, dof_vel, actions, vec_sensor_tensor):
    quat = root_states[:, 3:7]
    speed = quat_rotate_inverse(quat, root_states[:, 7:10])
    roll, pitch, yaw = get_euler_xyz(quat)
    tilt = torch.abs(normalize_angle(roll)) + torch.abs(normalize_angle(pitch))
    straight = torch.cos(yaw)
    tilt_temp = math.pi / 6.0
    stable = torch.exp(-tilt / tilt_temp)
    contact = torch.norm(vec_sensor_tensor.view(vec_sensor_tensor.shape[0], 4, 6)[:, :, 0:3], p=2, dim=-1)
    gait = torch.mean((contact > 1.0).float(), dim=1)
    energy = torch.sum(torch.abs(actions * dof_vel), dim=-1)
    total = 2.0 * speed[:, 0] + 0.5 * stable + 0.2 * straight + 0.1 * gait
    total -= 0.002 * energy
    return total, {"speed": speed[:, 0], "stable": stable, "straight": straight, "gait": gait, "energy": -energy}
""",
    "loop_over_legs": """
def compute_reward(root_states: Tensor, dof_vel: Tensor, actions: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    num_envs = root_states.shape[0]
    smooth = torch.zeros(num_envs, device=root_states.device)
    for leg in range(4):
        hip, ankle = dof_vel[:, 2 * leg], dof_vel[:, 2 * leg + 1]
        smooth = smooth + torch.tanh(torch.abs(hip - ankle) / 10.0)
    smooth /= 4
    forward = torch.nan_to_num(root_states[:, 7].clamp(min=-1.0, max=10.0))
    rewards = {"forward": forward, "smooth": -0.1 * smooth}
    total = sum(rewards.values())
    return total, rewards
""",
    "helpers_of_isaacgym": """
import numpy as np
import torch
def compute_reward(root_states: torch.Tensor, inv_start_rot: torch.Tensor, dof_pos: torch.Tensor,
                   dof_limits_lower: torch.Tensor, dof_limits_upper: torch.Tensor, actions: torch.Tensor):
    torso_quat = quat_mul(root_states[:, 3:7], inv_start_rot)
    ahead = to_torch([1.0, 0.0, 0.0], device=root_states.device).repeat((root_states.shape[0], 1))
    heading = get_basis_vector(torso_quat, ahead)[:, 0]
    wanted: torch.Tensor = quat_from_euler_xyz(0.0 * heading, 0.0 * heading, 0.0 * heading + np.pi / 4)
    angle, axis = quat_to_angle_axis(quat_mul(wanted, quat_conjugate(torso_quat)))
    turn = torch.abs(normalize_angle(calc_heading(torso_quat) - np.pi / 4)) / np.pi
    bent = torch.mean(saturate(torch.abs(unscale(dof_pos, dof_limits_lower, dof_limits_upper)), 0 * actions,
                               0 * actions + 1), dim=-1)
    progress = copysign(1.0, root_states[:, 7]) * torch.sqrt(torch.abs(root_states[:, 7]) + 1e-6)
    total = progress + heading - turn - 0.1 * bent - 0.1 * torch.abs(angle) * torch.norm(axis, dim=-1)
    return total, {"progress": progress, "heading": heading, "turn": -turn, "bent": -0.1 * bent}
""",
    "masked": """
import torch
import torch.nn.functional as F
def compute_reward(root_states: torch.Tensor, up_vec: torch.Tensor, targets: torch.Tensor):
    torso_height = root_states[:, 2]
    to_target = F.normalize(targets[:, :2] - root_states[:, :2], dim=-1)
    toward = (root_states[:, 7:9] * to_target).sum(dim=-1)
    alive = torch.ones_like(toward)
    alive[torso_height < 0.31] = -2.0
    toward_reward = F.softplus(toward)
    upside_down = (up_vec[:, 2] < 0.0) & (torso_height < 0.5)
    toward_reward = toward_reward * (~upside_down).float()
    return toward_reward + alive, dict_of(toward_reward, alive)
""".replace("dict_of(toward_reward, alive)", '{"toward": toward_reward, "alive": alive}'),
}

HUMANOID = {
    "upright_and_fast": """
import torch
from typing import Tuple, Dict
@torch.jit.script
def compute_reward(torso_position: torch.Tensor, velocity: torch.Tensor, up_vec: torch.Tensor,
                   heading_vec: torch.Tensor, dof_vel: torch.Tensor, actions: torch.Tensor,
                   dof_vel_scale: float) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    temp_speed, temp_height = 4.0, 0.2
    speed = torch.norm(velocity[:, 0:2], dim=-1)
    speed_reward = 1.0 - torch.exp(-torch.relu(velocity[:, 0]) / temp_speed)
    height_reward = torch.exp(-torch.square(torso_position[:, 2] - 1.34) / temp_height)
    up_reward = torch.where(up_vec[:, 2] > 0.93, torch.ones_like(speed), torch.clamp(up_vec[:, 2], min=0.0))
    heading_reward = torch.clamp(heading_vec[:, 0], min=0.0) ** 2
    cost = 1e-4 * torch.sum((dof_vel * dof_vel_scale).pow(2), dim=-1) + 0.01 * actions.square().mean(dim=-1)
    total = 3.0 * speed_reward + height_reward + 0.5 * up_reward + 0.3 * heading_reward - cost
    components = {"speed": speed_reward, "height": height_reward, "up": up_reward, "heading": heading_reward}
    components["cost"] = -cost
    return total, components
""",
    "tilt_from_quaternion": """
import torch
def compute_reward(root_states: torch.Tensor, actions: torch.Tensor):
    x, y, z, w = root_states[:, 3], root_states[:, 4], root_states[:, 5], root_states[:, 6]
    up_z = 1.0 - 2.0 * (x * x + y * y)
    yaw = torch.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    tilt = torch.acos(torch.clamp(up_z, -1.0, 1.0))
    eps = 1e-6
    direction = root_states[:, 7:10] / (torch.norm(root_states[:, 7:10], dim=-1, keepdim=True) + eps)
    forward = direction[:, 0] * torch.sqrt(torch.sum(root_states[:, 7:10] ** 2, dim=1) + eps)
    upright = torch.exp(-3.0 * tilt)
    straight = torch.sigmoid(torch.cos(yaw) * 4.0)
    reward = forward + 2.0 * upright + 0.5 * straight - 0.05 * torch.linalg.norm(actions, dim=-1)
    return reward, {"forward": forward, "upright": upright, "straight": straight}
""",
    "stacked": """
import torch
def compute_reward(velocity, torso_position, dof_force_tensor, actions):
    weights = torch.tensor([1.0, 0.5, 0.1], device=velocity.device)
    parts = [
        velocity[:, 0],
        torch.tanh(torso_position[:, 2] * 2.0),
        -torch.log1p(torch.abs(dof_force_tensor).mean(dim=-1)),
    ]
    stacked = torch.stack(parts, dim=-1)
    total = (stacked * weights).sum(-1)
    return total, {"velocity": parts[0], "height": parts[1], "effort": parts[2]}
""",
}

JUMP = {
    "two_legged_takeoff": """
import torch
from typing import Dict, Tuple
@torch.jit.script
def compute_reward(torso_position: torch.Tensor, prev_torso_position: torch.Tensor, velocity_world: torch.Tensor,
                   up_vec: torch.Tensor, right_leg_contact_force: torch.Tensor, left_leg_contact_force: torch.Tensor,
                   right_knee: torch.Tensor, left_knee: torch.Tensor,
                   actions: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    height_temp: float = 0.3
    right = torch.norm(right_leg_contact_force, dim=-1)
    left = torch.norm(left_leg_contact_force, dim=-1)
    airborne = ((right < 1.0) & (left < 1.0)).float()
    rise = torch.clamp(torso_position[:, 2] - prev_torso_position[:, 2], min=0.0) * 60.0
    height = torch.exp((torso_position[:, 2] - 1.3).clamp(max=1.0) / height_temp)
    symmetry = torch.exp(-torch.abs(right - left) / 100.0)
    bent = torch.exp(-torch.abs(right_knee + 1.0)) + torch.exp(-torch.abs(left_knee + 1.0))
    upright = torch.clamp(up_vec[:, 2], 0.0, 1.0)
    total = airborne * (1.0 + rise) + 0.2 * height + 0.3 * symmetry + 0.2 * bent + upright
    return total, {"airborne": airborne, "rise": rise, "height": height, "symmetry": symmetry, "bent": bent,
                   "upright": upright}
""",
    "vertical_speed": """
import torch
def compute_reward(velocity_world, angular_velocity_world, up_vec, dof_vel):
    lift = torch.maximum(velocity_world[:, 2], torch.zeros_like(velocity_world[:, 2]))
    spin = torch.exp(-0.1 * torch.sum(angular_velocity_world ** 2, dim=-1))
    calm = 1.0 / (1.0 + 0.001 * dof_vel.pow(2).sum(dim=-1))
    up = up_vec[:, 2]
    return lift * 3 + 0.5 * spin + 0.2 * calm + up, {"lift": lift, "spin": spin, "calm": calm, "up": up}
""",
}

CARTPOLE = {
    "exponential": """
import torch
from torch import Tensor
from typing import Tuple, Dict
@torch.jit.script
def compute_reward(dof_pos: Tensor, dof_vel: Tensor, actions: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    pole_angle = dof_pos[:, 1]
    angle_temp = 0.1
    balance = torch.exp(-pole_angle.abs() / angle_temp)
    centre = torch.exp(-dof_pos[:, 0] ** 2 / 2)
    effort = actions.squeeze(-1).abs()
    return balance + 0.2 * centre - 0.01 * effort, {"balance": balance, "centre": centre, "effort": -0.01 * effort}
""",
    "cosine": """
import torch
def compute_reward(dof_pos, dof_vel):
    upright = torch.cos(dof_pos[:, 1])
    fell = torch.logical_or(dof_pos[:, 1].abs() > 1.57, dof_pos[:, 0].abs() > 3.0)
    penalty = torch.where(fell, -2.0, 0.0)
    slow = -0.01 * torch.einsum("ni,ni->n", dof_vel, dof_vel)
    total = upright + penalty + slow
    if total.shape[0] == 0:
        total = torch.zeros_like(upright)
    return total, {"upright": upright, "penalty": penalty, "slow": slow}
""",
    "sparse": """
def compute_reward(dof_pos: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    alive = (torch.abs(dof_pos[:, 1]) < 0.5).float()
    return alive, {"alive": alive}
""",
}

GOOD = {"Ant": ANT, "Cartpole": CARTPOLE, "Humanoid": HUMANOID, "HumanoidJump": JUMP}
GOOD |= ball_flight_patrol.GOOD | anymal_franka.GOOD | hands.GOOD | tabletop.GOOD | two_hands.GOOD | h1.GOOD
