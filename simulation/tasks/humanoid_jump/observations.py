"""HumanoidJump: a two-legged robot with arms and 21 hinges on flat ground; x points ahead, y to its left, z up."""

from typing import Any

import torch

from simulation.rotations import atan2, quat_to_matrix


def compute_observations(env: Any) -> None:
    """Run after every control step (1/60 s). All tensors are float32, one row per environment.

    env.root_states: (num_envs, 13), the torso in the world frame: position 0:3 in m, quaternion xyzw 3:7,
        linear velocity 7:10 in m/s, angular velocity 10:13 in rad/s; standing, the torso's centre is 1.28 m high
    env.dof_pos, env.dof_vel: (num_envs, 21), hinge angles in rad and velocities in rad/s, named below in their
        order; all are 0 when it stands upright; hip_y and knee are negative when the leg is bent
    env.dof_force_tensor: (num_envs, 21), the motors' torques in Nm
    env.dof_limits_lower, env.dof_limits_upper: (21,), the range of each hinge in rad
    env.vec_sensor_tensor: (num_envs, 12), force in N (3) and torque in Nm (3) from the ground on the right foot 0:6
        and on the left foot 6:12, in the world frame; all zero while a foot is in the air
    env.right_leg_contact_force, env.left_leg_contact_force: (num_envs, 3), the forces of env.vec_sensor_tensor on the
        right and the left foot; standing, about 200 N upwards each; the robot weighs 405 N
    env.angular_velocity_local: (num_envs, 3), the torso's angular velocity along its own axes in rad/s, times
        env.angular_velocity_scale (0.25)
    env.actions: (num_envs, 21), the policy's last actions in [-1, 1], as parts of each motor's strength
    """
    env.prev_torso_position = env.torso_position
    env.torso_position = env.root_states[:, 0:3]
    env.velocity_world = env.root_states[:, 7:10]
    env.angular_velocity_world = env.root_states[:, 10:13]

    # rotation matrix of the torso: its columns are the torso's x, y, z axes in the world
    axes = quat_to_matrix(env.root_states[:, 3:7])
    env.heading_vec = axes[:, :, 0]
    env.up_vec = axes[:, :, 2]
    up_proj = env.up_vec[:, 2]
    yaw = atan2(axes[:, 1, 0], axes[:, 0, 0])
    roll = atan2(axes[:, 2, 1], axes[:, 2, 2])

    # linear and angular velocity along the torso's own axes
    local_velocities = torch.bmm(env.root_states[:, 7:13].reshape(-1, 2, 3), axes)
    env.velocity_local = local_velocities[:, 0]
    env.angular_velocity_local = local_velocities[:, 1] * env.angular_velocity_scale
    env.right_leg_contact_force = env.vec_sensor_tensor[:, 0:3]
    env.left_leg_contact_force = env.vec_sensor_tensor[:, 6:9]

    # every hinge by name: (num_envs,), in rad
    env.abdomen_y, env.abdomen_z, env.abdomen_x = env.dof_pos[:, 0:3].unbind(-1)
    env.right_hip_x, env.right_hip_z, env.right_hip_y = env.dof_pos[:, 3:6].unbind(-1)
    env.right_knee, env.right_ankle_x, env.right_ankle_y = env.dof_pos[:, 6:9].unbind(-1)
    env.left_hip_x, env.left_hip_z, env.left_hip_y = env.dof_pos[:, 9:12].unbind(-1)
    env.left_knee, env.left_ankle_x, env.left_ankle_y = env.dof_pos[:, 12:15].unbind(-1)
    env.right_shoulder1, env.right_shoulder2, env.right_elbow = env.dof_pos[:, 15:18].unbind(-1)
    env.left_shoulder1, env.left_shoulder2, env.left_elbow = env.dof_pos[:, 18:21].unbind(-1)

    dof_pos_scaled = (2.0 * env.dof_pos - env.dof_limits_upper - env.dof_limits_lower) / (
        env.dof_limits_upper - env.dof_limits_lower
    )

    env.obs_buf = torch.cat(
        (
            env.torso_position,  # 0:3
            env.velocity_local,  # 3:6
            env.angular_velocity_local,  # 6:9
            torch.stack((yaw, roll, up_proj), dim=-1),  # 9:12
            dof_pos_scaled,  # 12:33, -1 and 1 at the limits
            env.dof_vel * env.dof_vel_scale,  # 33:54
            env.dof_force_tensor * env.contact_force_scale,  # 54:75
            env.vec_sensor_tensor * env.contact_force_scale,  # 75:87
            env.actions,  # 87:108
        ),
        dim=-1,
    )
