"""LiftPegUpright: a robot arm of seven hinges with a two-finger gripper, and a peg that lies on a table."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.05 s). All tensors are float32, one row per environment; world frame, z up, the
    table top at z = 0. A pose (num_envs, 7) is a position in m and a quaternion xyzw.

    The robot's base is at (-0.615, 0, 0); it looks along +x. The peg, 0.24 m long and 0.05 m wide, begins lying along x
    and is to stand upright on the table, on either end.

    env.robot_qpos, env.robot_qvel: (num_envs, 9), seven hinge angles in rad from the base to the hand, then how far
        each finger is from the hand's middle, 0 (closed) to 0.04 m; and their velocities
    env.tcp_pose, env.tcp_pos: (num_envs, 7) and (num_envs, 3), the point between the finger tips; the fingers point
        along its z axis and move along its y axis
    env.obj_pose, env.obj_pos: (num_envs, 7) and (num_envs, 3), the peg's middle; its own x axis runs along its length
    env.is_grasped: (num_envs,), 1 where both fingers press on the peg from their sides, else 0
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]: how each hinge turns, and the fingers, closed (-1)
        to open (1)
    """
    env.obs_buf = torch.cat(
        (
            env.robot_qpos,  # 0:9
            env.robot_qvel,  # 9:18
            env.tcp_pose,  # 18:25
            env.obj_pose,  # 25:32
        ),
        dim=-1,
    )
