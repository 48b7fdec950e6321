"""PullCube: a robot arm with a two-finger gripper pulls a cube towards itself, onto a disc on the table."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.05 s). All tensors are float32, one row per environment; world frame, z up, the
    table top at z = 0. A pose (num_envs, 7) is a position in m and a quaternion xyzw.

    The robot, an arm of seven hinges, has its base at (-0.615, 0, 0) and looks along +x. The cube, 0.04 m wide, lies
    before it. The disc lies between the cube and the base: the cube is to be pulled along -x, and the gripper reaches
    over it to its far side, at larger x.

    env.robot_qpos, env.robot_qvel: (num_envs, 9), seven hinge angles in rad from the base to the hand, then how far
        each finger is from the hand's middle, 0 (closed) to 0.04 m; and their velocities
    env.tcp_pose, env.tcp_pos: (num_envs, 7) and (num_envs, 3), the point between the finger tips; the fingers point
        along its z axis and move along its y axis
    env.obj_pose, env.obj_pos: (num_envs, 7) and (num_envs, 3), the cube
    env.goal_pos: (num_envs, 3), the middle of the disc on the table, which is 0.1 m in radius
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]: how each hinge turns, and the fingers, closed (-1)
        to open (1)
    """
    env.obs_buf = torch.cat(
        (
            env.robot_qpos,  # 0:9
            env.robot_qvel,  # 9:18
            env.tcp_pose,  # 18:25
            env.goal_pos,  # 25:28
            env.obj_pose,  # 28:35
        ),
        dim=-1,
    )
