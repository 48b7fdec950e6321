"""Humanoid: a two-legged robot with arms and 21 hinges on flat ground; x points ahead, y to its left, z up."""

import torch

from simulation.rotations import euler_xyz, quat_mul, quat_rotate_inverse, quat_to_matrix, wrap_angle


def compute_observations(env):
    """Run after every control step (env.dt = 1/60 s). All tensors are float32, one row per environment.

    env.root_states: (num_envs, 13), the torso in the world frame: position 0:3 in m, quaternion xyzw 3:7,
        linear velocity 7:10 in m/s, angular velocity 10:13 in rad/s; standing, the torso's centre is 1.28 m high
    env.dof_pos, env.dof_vel: (num_envs, 21), hinge angles in rad and velocities in rad/s, in the order
        0 abdomen_y, 1 abdomen_z, 2 abdomen_x,
        3 right_hip_x, 4 right_hip_z, 5 right_hip_y, 6 right_knee, 7 right_ankle_x, 8 right_ankle_y,
        9 left_hip_x, 10 left_hip_z, 11 left_hip_y, 12 left_knee, 13 left_ankle_x, 14 left_ankle_y,
        15 right_shoulder1, 16 right_shoulder2, 17 right_elbow, 18 left_shoulder1, 19 left_shoulder2, 20 left_elbow;
        all are 0 when it stands upright; hip_y and knee are negative when the leg is bent
    env.dof_force_tensor: (num_envs, 21), the motors' torques in Nm
    env.dof_limits_lower, env.dof_limits_upper: (21,), the range of each hinge in rad
    env.vec_sensor_tensor: (num_envs, 12), force in N (3) and torque in Nm (3) from the ground on the right foot 0:6
        and on the left foot 6:12, in the world frame; all zero while a foot is in the air
    env.actions: (num_envs, 21), the policy's last actions in [-1, 1], as parts of each motor's strength
    env.targets: (num_envs, 3), a point 1000 m ahead
    env.inv_start_rot: (num_envs, 4), inverse of the torso's rotation when it stands and faces the target
    """
    env.torso_position = env.root_states[:, 0:3]
    torso_rotation = quat_mul(env.root_states[:, 3:7], env.inv_start_rot)
    env.velocity = env.root_states[:, 7:10]
    ang_velocity = env.root_states[:, 10:13]

    # potentials rise by the distance covered towards the target, divided by dt
    to_target = env.targets - env.torso_position
    to_target = to_target * to_target.new_tensor([1.0, 1.0, 0.0])
    distance = torch.linalg.vector_norm(to_target, dim=-1)
    env.prev_potentials = env.potentials
    env.potentials = -distance / env.dt

    # the torso's z and x axes in the world
    axes = quat_to_matrix(torso_rotation)
    env.up_vec = axes[:, :, 2]
    env.heading_vec = axes[:, :, 0]
    up_proj = env.up_vec[:, 2]
    heading_proj = (env.heading_vec * to_target).sum(-1) / distance

    vel_loc = quat_rotate_inverse(torso_rotation, env.velocity)
    angvel_loc = quat_rotate_inverse(torso_rotation, ang_velocity)
    roll, _, yaw = euler_xyz(torso_rotation)
    angle_to_target = wrap_angle(torch.atan2(to_target[:, 1], to_target[:, 0]) - yaw)
    dof_pos_scaled = (2.0 * env.dof_pos - env.dof_limits_upper - env.dof_limits_lower) / (
        env.dof_limits_upper - env.dof_limits_lower
    )

    env.obs_buf = torch.cat(
        (
            env.torso_position[:, 2:3],  # 0: height of the torso
            vel_loc,  # 1:4
            angvel_loc * env.angular_velocity_scale,  # 4:7
            torch.stack((yaw, roll, angle_to_target, up_proj, heading_proj), dim=-1),  # 7:12
            dof_pos_scaled,  # 12:33, -1 and 1 at the limits
            env.dof_vel * env.dof_vel_scale,  # 33:54
            env.dof_force_tensor * env.contact_force_scale,  # 54:75
            env.vec_sensor_tensor * env.contact_force_scale,  # 75:87
            env.actions,  # 87:108
        ),
        dim=-1,
    )
