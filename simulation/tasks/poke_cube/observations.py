"""PokeCube: a robot arm of seven hinges with a two-finger gripper, a peg and a cube on a table."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.05 s). All tensors are float32, one row per environment; world frame, z up, the
    table top at z = 0. A pose (num_envs, 7) is a position in m and a quaternion xyzw.

    The robot's base is at (-0.615, 0, 0); it looks along +x. The peg, 0.24 m long and 0.05 m wide, begins lying along
    x. With its head, the end at +x, the cube, 0.04 m wide, is to be pushed along +x to a disc.

    env.robot_qpos, env.robot_qvel: (num_envs, 9), seven hinge angles in rad from the base to the hand, then how far
        each finger is from the hand's middle, 0 (closed) to 0.04 m; and their velocities
    env.tcp_pose, env.tcp_pos: (num_envs, 7) and (num_envs, 3), the point between the finger tips; the fingers point
        along its z axis and move along its y axis
    env.peg_pose, env.peg_pos, env.peg_head_pos: (num_envs, 7), (num_envs, 3) and (num_envs, 3), the peg's middle, and
        the end to poke with; its own x axis runs along its length
    env.cube_pose, env.cube_pos: (num_envs, 7) and (num_envs, 3), the cube
    env.goal_pos: (num_envs, 3), the middle of the disc on the table, which is 0.05 m in radius
    env.is_grasped: (num_envs,), 1 where both fingers press on the peg from their sides, else 0
    env.angle_diff: (num_envs,), by how much peg and cube are turned against one another about the vertical, in rad
    env.head_to_cube_dist: (num_envs,), from the peg's head to the cube's middle along the table, in m
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]: how each hinge turns, and the fingers, closed (-1)
        to open (1)
    """
    env.head_to_cube_dist = torch.norm(env.peg_head_pos[:, 0:2] - env.cube_pos[:, 0:2], dim=-1)
    env.obs_buf = torch.cat(
        (
            env.robot_qpos,  # 0:9
            env.robot_qvel,  # 9:18
            env.tcp_pose,  # 18:25
            env.cube_pose,  # 25:32
            env.peg_pose,  # 32:39
            env.goal_pos,  # 39:42
            env.peg_pos - env.tcp_pos,  # 42:45
            env.cube_pos - env.peg_pos,  # 45:48
            env.goal_pos - env.cube_pos,  # 48:51
            env.peg_head_pos - env.cube_pos,  # 51:54
        ),
        dim=-1,
    )
