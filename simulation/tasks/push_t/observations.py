"""PushT: a robot arm of seven hinges whose two fingers stay closed, and a T-shaped block on a table."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.05 s). All tensors are float32, one row per environment; world frame, z up, the
    table top at z = 0. A pose (num_envs, 7) is a position in m and a quaternion xyzw.

    The robot's base is at (-0.615, 0, 0); it looks along +x. The T is to be pushed onto its outline, a second T that is
    only drawn on the table. Both are 0.2 m wide and 0.2 m long; the bar runs along the T's own x axis, 0.0625 to 0.0125
    m below its origin, the stem from there along its y axis to 0.1375; all is 0.05 m wide and 0.04 m high.

    env.robot_qpos, env.robot_qvel: (num_envs, 9), seven hinge angles in rad from the base to the hand, then how far
        each finger is from the hand's middle, 0 (closed) to 0.04 m; and their velocities
    env.tcp_pose, env.tcp_pos: (num_envs, 7) and (num_envs, 3), the point between the finger tips; the fingers point
        along its z axis and move along its y axis
    env.obj_pose, env.obj_pos, env.obj_yaw: (num_envs, 7), (num_envs, 3) and (num_envs,), the T, and how far it is
        turned about the vertical, in rad
    env.goal_pos, env.goal_yaw: (num_envs, 3) and (num_envs,), the outline
    env.inter_area: (num_envs,), the part of the outline that the T covers, 0 to 1
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]: how each hinge turns; the last moves nothing
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
