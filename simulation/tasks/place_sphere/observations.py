"""PlaceSphere: a robot arm of seven hinges with a two-finger gripper, a ball and a shallow bin on a table."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.05 s). All tensors are float32, one row per environment; world frame, z up, the
    table top at z = 0. A pose (num_envs, 7) is a position in m and a quaternion xyzw.

    The robot's base is at (-0.615, 0, 0); it looks along +x. The ball, 0.02 m in radius, is to lie in the bin, let go.
    The bin is fixed, 0.05 m wide outside and 0.04 m inside; a ball that lies in it is 0.0225 m above its origin.

    env.robot_qpos, env.robot_qvel: (num_envs, 9), seven hinge angles in rad from the base to the hand, then how far
        each finger is from the hand's middle, 0 (closed) to 0.04 m; and their velocities
    env.tcp_pose, env.tcp_pos: (num_envs, 7) and (num_envs, 3), the point between the finger tips; the fingers point
        along its z axis and move along its y axis
    env.obj_pose, env.obj_pos: (num_envs, 7) and (num_envs, 3), the ball
    env.obj_linvel, env.obj_angvel: (num_envs, 3), the ball's velocity in m/s and angular velocity in rad/s
    env.bin_pos: (num_envs, 3), the middle of the bin's bottom
    env.is_grasped: (num_envs,), 1 where both fingers press on the ball from their sides, else 0
    env.tcp_to_obj_pos: (num_envs, 3), from the gripper to the ball
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]: how each hinge turns, and the fingers, closed (-1)
        to open (1)
    """
    env.tcp_to_obj_pos = env.obj_pos - env.tcp_pos
    env.obs_buf = torch.cat(
        (
            env.robot_qpos,  # 0:9
            env.robot_qvel,  # 9:18
            env.is_grasped.unsqueeze(-1),  # 18
            env.tcp_pose,  # 19:26
            env.bin_pos,  # 26:29
            env.obj_pose,  # 29:36
            env.tcp_to_obj_pos,  # 36:39
        ),
        dim=-1,
    )
