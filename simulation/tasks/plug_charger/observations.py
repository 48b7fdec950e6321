"""PlugCharger: a robot arm of seven hinges with a two-finger gripper, a charger on a table and a receptacle."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.05 s). All tensors are float32, one row per environment; world frame, z up, the
    table top at z = 0. A pose (num_envs, 7) is a position in m and a quaternion xyzw.

    The robot's base is at (-0.615, 0, 0); it looks along +x. The charger is to be plugged into the receptacle, which is
    fixed 0.1 m above the table and opens towards the robot.

    env.robot_qpos, env.robot_qvel: (num_envs, 9), seven hinge angles in rad from the base to the hand, then how far
        each finger is from the hand's middle, 0 (closed) to 0.04 m; and their velocities
    env.tcp_pose, env.tcp_pos: (num_envs, 7) and (num_envs, 3), the point between the finger tips; the fingers point
        along its z axis and move along its y axis
    env.charger_pose, env.charger_pos: (num_envs, 7) and (num_envs, 3), the middle of the charger's front face; its own
        x axis points out of it, along its two pins, which are 0.016 m long; its base, 0.04 m long, 0.03 m wide and
        0.024 m high, is behind
    env.receptacle_pose: (num_envs, 7), the middle of the receptacle's front face; its own x axis points out of it
    env.goal_pose, env.goal_pos: (num_envs, 7) and (num_envs, 3), the charger's when it is plugged in
    env.obj_to_goal_dist, env.obj_to_goal_angle: (num_envs,), from the charger's pose to that, in m and in rad
    env.is_grasped: (num_envs,), 1 where both fingers press squarely on the charger from their sides, else 0
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]: how each hinge turns, and the fingers, closed (-1)
        to open (1)
    """
    env.obs_buf = torch.cat(
        (
            env.robot_qpos,  # 0:9
            env.robot_qvel,  # 9:18
            env.tcp_pose,  # 18:25
            env.charger_pose,  # 25:32
            env.receptacle_pose,  # 32:39
            env.goal_pose,  # 39:46
        ),
        dim=-1,
    )
