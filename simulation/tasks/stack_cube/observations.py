"""StackCube: a robot arm of seven hinges with a two-finger gripper, and two cubes on a table."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.05 s). All tensors are float32, one row per environment; world frame, z up, the
    table top at z = 0. A pose (num_envs, 7) is a position in m and a quaternion xyzw.

    The robot's base is at (-0.615, 0, 0); it looks along +x. Cube A is to lie on cube B, let go; both are 0.04 m wide.

    env.robot_qpos, env.robot_qvel: (num_envs, 9), seven hinge angles in rad from the base to the hand, then how far
        each finger is from the hand's middle, 0 (closed) to 0.04 m; and their velocities
    env.tcp_pose, env.tcp_pos: (num_envs, 7) and (num_envs, 3), the point between the finger tips; the fingers point
        along its z axis and move along its y axis
    env.cubeA_pose, env.cubeA_pos: (num_envs, 7) and (num_envs, 3), cube A, red
    env.cubeA_linvel, env.cubeA_angvel: (num_envs, 3), its velocity in m/s and angular velocity in rad/s
    env.cubeB_pose, env.cubeB_pos: (num_envs, 7) and (num_envs, 3), cube B, green
    env.is_grasped: (num_envs,), 1 where both fingers press on cube A from their sides, else 0
    env.tcp_to_cubeA_pos, env.cubeA_to_cubeB_pos: (num_envs, 3), from the first to the second
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]: how each hinge turns, and the fingers, closed (-1)
        to open (1)
    """
    env.tcp_to_cubeA_pos = env.cubeA_pos - env.tcp_pos
    env.cubeA_to_cubeB_pos = env.cubeB_pos - env.cubeA_pos
    env.obs_buf = torch.cat(
        (
            env.robot_qpos,  # 0:9
            env.robot_qvel,  # 9:18
            env.tcp_pose,  # 18:25
            env.cubeA_pose,  # 25:32
            env.cubeB_pose,  # 32:39
            env.tcp_to_cubeA_pos,  # 39:42
            env.cubeB_pos - env.tcp_pos,  # 42:45
            env.cubeA_to_cubeB_pos,  # 45:48
        ),
        dim=-1,
    )
