"""PegInsertionSide: a robot arm of seven hinges with a two-finger gripper, a peg and a box with a hole on a table."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.05 s). All tensors are float32, one row per environment; world frame, z up, the
    table top at z = 0. A pose (num_envs, 7) is a position in m and a quaternion xyzw.

    The robot's base is at (-0.615, 0, 0); it looks along +x. The peg begins lying about along y; its head, the end at
    its own +x, is to be pushed into the middle of the box, along the hole's x axis.

    env.robot_qpos, env.robot_qvel: (num_envs, 9), seven hinge angles in rad from the base to the hand, then how far
        each finger is from the hand's middle, 0 (closed) to 0.04 m; and their velocities
    env.tcp_pose, env.tcp_pos: (num_envs, 7) and (num_envs, 3), the point between the finger tips; the fingers point
        along its z axis and move along its y axis
    env.peg_pose, env.peg_pos, env.peg_head_pos: (num_envs, 7), (num_envs, 3) and (num_envs, 3), the peg's middle, and
        the middle of its head's face; its own x axis runs along its length, to the head
    env.peg_half_size: (num_envs, 3), half its length, width and height
    env.box_hole_pose, env.box_hole_pos: (num_envs, 7) and (num_envs, 3), the middle of the hole, in the middle of the
        box, which is fixed; the hole runs along its x axis and the peg enters from its -x side
    env.box_hole_radius: (num_envs,), half the hole's width
    env.is_grasped: (num_envs,), 1 where both fingers press squarely on the peg from their sides, else 0
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]: how each hinge turns, and the fingers, closed (-1)
        to open (1)
    """
    env.obs_buf = torch.cat(
        (
            env.robot_qpos,  # 0:9
            env.robot_qvel,  # 9:18
            env.tcp_pose,  # 18:25
            env.peg_pose,  # 25:32
            env.peg_half_size,  # 32:35
            env.box_hole_pose,  # 35:42
            env.box_hole_radius.unsqueeze(-1),  # 42
        ),
        dim=-1,
    )
