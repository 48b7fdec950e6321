"""HumanoidPush: a humanoid robot of 1.8 m and 53 kg stands at a table and pushes a box to a place on it."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.02 s). All tensors are float32, one row per environment; world frame, z up, the
    ground at z = 0.

    The robot begins at (0, 0) on its feet, in a slight crouch, looks along +x and keeps its forearms level ahead. The
    table, its top at z = 0.9, reaches from x = 0.4 to 1.4 and from y = -1 to 1. The box, 0.2 m wide, stands on it at
    (0.7, 0). Its goal lies 0 to 0.3 m farther from the robot, up to 0.5 m to the left (+y) or to the right.

    env.root_states: (num_envs, 13), the pelvis: position 0:3 in m (0.98 m above the ground when it stands), quaternion
        xyzw 3:7, linear velocity 7:10, angular velocity 10:13
    env.joint_angles, env.joint_velocities: (num_envs, 25), rad and rad/s: of the left, then of the right leg hip yaw,
        hip roll, hip pitch, knee, ankle; torso; of the left, then of the right arm shoulder pitch, shoulder roll,
        shoulder yaw, elbow, wrist, fingers, thumb
    env.default_joint_angles: (25,), the angles with which the joints begin
    env.joint_limits_lower, env.joint_limits_upper: (25,), the range of each joint in rad
    env.actuator_forces: (num_envs, 25), torque in Nm of each joint's drive
    env.head_height: (num_envs,), height of the top of the head in m, 1.68 when it stands
    env.torso_upright: (num_envs,), the vertical part of the torso's up axis: 1 upright, 0 lying
    env.left_hand_position, env.right_hand_position: (num_envs, 3), the wrists in m; the hand reaches 0.19 m farther
    env.left_hand_velocity, env.right_hand_velocity: (num_envs, 3), in m/s
    env.box, env.box_vel: (num_envs, 3), the middle of the box in m, and its velocity in m/s
    env.goal: (num_envs, 3), where the middle of the box is to be
    env.actions: (num_envs, 25), the last actions in [-1, 1]: the angle that each drive holds, from its joint's lower
        limit (-1) by the angle with which it begins (0) to its upper limit (1)
    """
    env.obs_buf = torch.cat(
        (
            env.root_states,  # 0:13
            env.joint_angles,  # 13:38
            env.joint_velocities,  # 38:63
            env.left_hand_position,  # 63:66
            env.goal,  # 66:69
            env.box,  # 69:72
            env.box_vel,  # 72:75
        ),
        dim=-1,
    )
