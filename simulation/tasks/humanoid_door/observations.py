"""HumanoidDoor: a humanoid robot of 1.8 m and 53 kg opens a door with a handle and walks out of a room."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (0.02 s). All tensors are float32, one row per environment; world frame, z up, the
    ground at z = 0.

    The robot begins at (0, 0) on its feet, in a slight crouch, looks along +x and keeps its forearms level ahead. The
    room reaches from x = -1.4 to 0.73 and from y = -0.58 to 0.58. The closed door stands across x = 0.8; its hinge is
    at (0.75, -0.5), and it opens into the room, towards -x, against a spring of 50 Nm/rad. The handle is a bar before
    the door at x = 0.66, z = 1.2, which begins at its axle at y = 0.4 and ends at y = 0.2. Its end must be pressed
    down by more than 0.8 rad before the door can be pulled open.

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
    env.door_hinge, env.door_hinge_velocity: (num_envs,), the door's angle in rad, 0 closed to 1.4 wide open, and rad/s
    env.door_hatch_hinge, env.door_hatch_hinge_velocity: (num_envs,), how far the handle is pressed down, 0 to 2 rad,
        and rad/s
    env.door_hatch_position: (num_envs, 3), the middle of the handle's axle, in m
    env.imu_position: (num_envs, 3), a point in the robot's chest in m
    env.actions: (num_envs, 25), the last actions in [-1, 1]: the angle that each drive holds, from its joint's lower
        limit (-1) by the angle with which it begins (0) to its upper limit (1)
    """
    env.obs_buf = torch.cat(
        (
            env.root_states,  # 0:13
            env.joint_angles,  # 13:38
            env.joint_velocities,  # 38:63
            env.door_hinge.unsqueeze(-1),  # 63:64
            env.door_hatch_hinge.unsqueeze(-1),  # 64:65
            env.door_hinge_velocity.unsqueeze(-1),  # 65:66
            env.door_hatch_hinge_velocity.unsqueeze(-1),  # 66:67
        ),
        dim=-1,
    )
