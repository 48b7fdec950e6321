"""HumanoidPackage: a humanoid robot of 1.8 m and 53 kg brings a package to a place."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.02 s). All tensors are float32, one row per environment; world frame, z up, the
    ground at z = 0.

    The robot begins at (0, 0) on its feet, in a slight crouch, looks along +x and keeps its forearms level ahead. The
    package, 0.4 m along x, 0.2 m along y and 0.7 m high, 0.28 kg, stands on the ground 0.6 to 2.8 m from it. The
    destination is a point 0.35 m above the ground up to 2 m away along x and y, where the middle of the standing
    package is to be; it may be carried or pushed there.

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
    env.package_location, env.package_rotation: (num_envs, 3) in m and (num_envs, 4), the middle of the package and its
        quaternion xyzw
    env.package_velocity, env.package_angular_velocity: (num_envs, 3), in m/s and rad/s
    env.package_destination: (num_envs, 3), where the middle of the package is to be
    env.actions: (num_envs, 25), the last actions in [-1, 1]: the angle that each drive holds, from its joint's lower
        limit (-1) by the angle with which it begins (0) to its upper limit (1)
    """
    env.obs_buf = torch.cat(
        (
            env.root_states,  # 0:13
            env.joint_angles,  # 13:38
            env.joint_velocities,  # 38:63
            env.package_destination,  # 63:66
            env.package_location,  # 66:69
            env.package_rotation,  # 69:73
            env.package_velocity,  # 73:76
            env.package_angular_velocity,  # 76:79
            env.left_hand_position,  # 79:82
            env.right_hand_position,  # 82:85
        ),
        dim=-1,
    )
