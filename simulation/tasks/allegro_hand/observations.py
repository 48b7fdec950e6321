"""AllegroHand: a robot hand, palm up, whose four fingers turn a cube to a goal; one that is reached is replaced."""

from typing import Any

import torch

from simulation.rotations import quat_conjugate, quat_mul


def compute_observations(env: Any) -> None:
    """Run after every control step (1/30 s). All tensors are float32, one row per environment; world frame, z up.

    env.object_pos, env.object_rot: (num_envs, 3) in m and (num_envs, 4), position and quaternion xyzw of the cube;
        env.object_pose: (num_envs, 7), both together
    env.object_linvel, env.object_angvel: (num_envs, 3), its velocity in m/s and angular velocity in rad/s
    env.goal_rot: (num_envs, 4), quaternion xyzw that the cube should be turned to
    env.goal_pos: (num_envs, 3), a point in the hand where the cube should stay;
        env.goal_pose: (num_envs, 7), both together
    env.shadow_hand_dof_pos, env.shadow_hand_dof_vel: (num_envs, 16), hinge angles in rad and velocities in rad/s:
        four of the index finger, four of the middle finger, four of the ring finger, four of the thumb, base first
    env.shadow_hand_dof_lower_limits, env.shadow_hand_dof_upper_limits: (16,), the range of each hinge in rad
    env.dof_force_tensor: (num_envs, 16), torque in Nm of the motor at each hinge
    env.actions: (num_envs, 16), the policy's last actions in [-1, 1]: the angles that the hinges are driven to, -1 for
        the lower limit and 1 for the upper limit
    """
    lower, upper = env.shadow_hand_dof_lower_limits, env.shadow_hand_dof_upper_limits
    dof_pos_scaled = (2.0 * env.shadow_hand_dof_pos - upper - lower) / (upper - lower)

    # rotation of the cube relative to its goal; its vector part is zero when the cube is turned as it should be
    relative_rot = quat_mul(env.object_rot, quat_conjugate(env.goal_rot))

    env.obs_buf = torch.cat(
        (
            dof_pos_scaled,  # 0:16, -1 and 1 at the limits
            env.shadow_hand_dof_vel * env.vel_obs_scale,  # 16:32
            env.dof_force_tensor * env.force_torque_obs_scale,  # 32:48
            env.object_pose,  # 48:55
            env.object_linvel,  # 55:58
            env.object_angvel * env.vel_obs_scale,  # 58:61
            env.goal_pose,  # 61:68
            relative_rot,  # 68:72
            env.actions,  # 72:88
        ),
        dim=-1,
    )
