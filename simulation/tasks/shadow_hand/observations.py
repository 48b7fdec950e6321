"""ShadowHand: a robot hand, palm up, whose five fingers turn a cube to a goal; one that is reached is replaced."""

from typing import Any

import torch

from simulation.rotations import quat_conjugate, quat_mul


def compute_observations(env: Any) -> None:
    """Run after every control step (1/60 s). All tensors are float32, one row per environment; world frame, z up.

    env.object_pos, env.object_rot: (num_envs, 3) in m and (num_envs, 4), position and quaternion xyzw of the cube;
        env.object_pose: (num_envs, 7), both together
    env.object_linvel, env.object_angvel: (num_envs, 3), its velocity in m/s and angular velocity in rad/s
    env.goal_rot: (num_envs, 4), quaternion xyzw that the cube should be turned to
    env.goal_pos: (num_envs, 3), a point in the hand where the cube should stay;
        env.goal_pose: (num_envs, 7), both together
    env.fingertip_state: (num_envs, 5, 13), per fingertip (index, middle, ring, little finger, thumb) its position 0:3,
        quaternion xyzw 3:7, linear velocity 7:10 and angular velocity 10:13; env.fingertip_pos: (num_envs, 5, 3)
    env.vec_sensor_tensor: (num_envs, 30), per fingertip the force in N (3) and torque in Nm (3) with which the cube
        presses on it; zero where they do not touch
    env.shadow_hand_dof_pos, env.shadow_hand_dof_vel: (num_envs, 24), hinge angles in rad and velocities in rad/s: two
        of the wrist, four each of index, middle and ring finger, five of the little finger, five of the thumb
    env.shadow_hand_dof_lower_limits, env.shadow_hand_dof_upper_limits: (24,), the range of each hinge in rad
    env.dof_force_tensor: (num_envs, 24), torque in Nm of the motor at each hinge
    env.actions: (num_envs, 20), the policy's last actions in [-1, 1]: the angles that the hinges are driven to, -1 for
        the lower limit and 1 for the upper limit; the last hinge of each finger but the thumb follows the one before it
    """
    lower, upper = env.shadow_hand_dof_lower_limits, env.shadow_hand_dof_upper_limits
    dof_pos_scaled = (2.0 * env.shadow_hand_dof_pos - upper - lower) / (upper - lower)

    # rotation of the cube relative to its goal; its vector part is zero when the cube is turned as it should be
    relative_rot = quat_mul(env.object_rot, quat_conjugate(env.goal_rot))

    env.obs_buf = torch.cat(
        (
            dof_pos_scaled,  # 0:24, -1 and 1 at the limits
            env.shadow_hand_dof_vel * env.vel_obs_scale,  # 24:48
            env.dof_force_tensor * env.force_torque_obs_scale,  # 48:72
            env.object_pose,  # 72:79
            env.object_linvel,  # 79:82
            env.object_angvel * env.vel_obs_scale,  # 82:85
            env.goal_pose,  # 85:92
            relative_rot,  # 92:96
            env.fingertip_state.flatten(1),  # 96:161
            env.vec_sensor_tensor * env.force_torque_obs_scale,  # 161:191
            env.actions,  # 191:211
        ),
        dim=-1,
    )
