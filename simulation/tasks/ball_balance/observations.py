"""BallBalance: a round tray on three two-part legs, and a ball that is dropped onto it; z points up."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.01 s). All tensors are float32, one row per environment.

    The tray (radius 0.5 m) rests level with its centre 0.56 m high. Its legs stand at 0, 120 and 240 degrees around it,
    0.4 m from the centre; their feet are pinned to the ground. Hips turn freely, knees are driven: stretching a knee
    (a positive angle) lifts the tray's edge there.

    env.dof_positions, env.dof_velocities: (num_envs, 6), hinge angles in rad and velocities in rad/s, in the order
        hip_0, knee_0, hip_1, knee_1, hip_2, knee_2; all 0 where the tray is level
    env.ball_positions, env.ball_linvels: (num_envs, 3), the ball's centre in m and its velocity in m/s, in the world
        frame; a ball of radius 0.1 m that rests in the middle of the tray is at (0, 0, 0.66)
    env.tray_positions: (num_envs, 3), the tray's centre in m
    env.sensor_forces, env.sensor_torques: (num_envs, 3, 3), for each leg (second dimension) the force in N and the
        torque in Nm, along x, y, z of the tray, with which the tray presses on that leg; at rest (0, 0, -5) or so
    env.actions: (num_envs, 3), the policy's last actions in [-1, 1]; 1 turns a knee's target angle at
        20 rad/s, within 0.4 rad
    """
    knees = [1, 3, 5]
    env.obs_buf = torch.cat(
        (
            env.dof_positions[:, knees],  # 0:3
            env.dof_velocities[:, knees],  # 3:6
            env.ball_positions,  # 6:9
            env.ball_linvels,  # 9:12
            env.sensor_forces[:, :, 2] / 20.0,  # 12:15, the load on each leg along the tray's z
            env.sensor_torques.flatten(1) / 20.0,  # 15:24, x, y, z of leg 0, then of legs 1 and 2
        ),
        dim=-1,
    )
