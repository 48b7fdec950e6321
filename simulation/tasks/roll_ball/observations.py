"""RollBall: a robot arm of seven hinges with a two-finger gripper, and a ball on a table."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.05 s). All tensors are float32, one row per environment; world frame, z up, the
    table top at z = 0. A pose (num_envs, 7) is a position in m and a quaternion xyzw.

    The robot's base is at (-0.1, 1, 0); it looks along -y. The ball, 0.035 m in radius, is to be hit so that it rolls
    along -y, about 1.4 m, to a disc that the arm cannot reach.

    env.robot_qpos, env.robot_qvel: (num_envs, 9), seven hinge angles in rad from the base to the hand, then how far
        each finger is from the hand's middle, 0 (closed) to 0.04 m; and their velocities
    env.tcp_pose, env.tcp_pos: (num_envs, 7) and (num_envs, 3), the point between the finger tips; the fingers point
        along its z axis and move along its y axis
    env.ball_pose, env.ball_pos, env.ball_vel: (num_envs, 7), (num_envs, 3) and (num_envs, 3), the ball, and its
        velocity in m/s
    env.goal_pos: (num_envs, 3), the middle of the disc on the table, which is 0.1 m in radius
    env.tcp_to_ball_pos, env.ball_to_goal_pos: (num_envs, 3), from the first to the second
    env.reached_status: (num_envs,), 1 once the gripper has been within 0.04 m of the point from which to hit: behind
        the ball, seen from the disc, 0.085 m from its middle; 0 before
    env.actions: (num_envs, 8), the policy's last actions in [-1, 1]: how each hinge turns, and the fingers, closed (-1)
        to open (1)
    """
    env.tcp_to_ball_pos = env.ball_pos - env.tcp_pos
    env.ball_to_goal_pos = env.goal_pos - env.ball_pos
    env.obs_buf = torch.cat(
        (
            env.robot_qpos,  # 0:9
            env.robot_qvel,  # 9:18
            env.tcp_pose,  # 18:25
            env.goal_pos,  # 25:28
            env.ball_pose,  # 28:35
            env.ball_vel,  # 35:38
            env.tcp_to_ball_pos,  # 38:41
            env.ball_to_goal_pos,  # 41:44
        ),
        dim=-1,
    )
