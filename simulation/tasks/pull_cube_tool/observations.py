"""PullCubeTool: a robot arm of seven hinges with a two-finger gripper, an L-shaped tool and a cube on a table."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.05 s). All tensors are float32, one row per environment; world frame, z up, the
    table top at z = 0. A pose (num_envs, 7) is a position in m and a quaternion xyzw.

    The robot's base is at (-0.615, 0, 0); it looks along +x. The cube, 0.04 m wide, begins out of its reach and is to
    be pulled close to the base with the tool's hook.

    env.robot_qpos, env.robot_qvel: (num_envs, 9), seven hinge angles in rad from the base to the hand, then how far
        each finger is from the hand's middle, 0 (closed) to 0.04 m; and their velocities
    env.tcp_pose, env.tcp_pos: (num_envs, 7) and (num_envs, 3), the point between the finger tips; the fingers point
        along its z axis and move along its y axis
    env.tool_pose, env.tool_pos: (num_envs, 7) and (num_envs, 3), the near end of the tool's handle, which runs along
        its own x axis to 0.2 and is 0.05 m wide; the hook runs from the far end along its y axis, between x = 0.15 and
        0.2, to y = 0.1
    env.cube_pose, env.cube_pos: (num_envs, 7) and (num_envs, 3), the cube
    env.is_grasped: (num_envs,), 1 where both fingers press squarely on the tool from their sides, else 0
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]: how each hinge turns, and the fingers, closed (-1)
        to open (1)
    """
    env.obs_buf = torch.cat(
        (
            env.robot_qpos,  # 0:9
            env.robot_qvel,  # 9:18
            env.tcp_pose,  # 18:25
            env.cube_pose,  # 25:32
            env.tool_pose,  # 32:39
        ),
        dim=-1,
    )
