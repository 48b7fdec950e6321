"""Anymal: a four-legged robot of 45 kg on flat ground; x points ahead, y to its left, z up. A leg has three hinges."""

from typing import Any

import torch

from simulation.rotations import quat_rotate_inverse


def compute_observations(env: Any) -> None:
    """Run after every control step (0.02 s). All tensors are float32, one row per environment.

    env.root_states: (num_envs, 13), the base in the world frame: position 0:3 in m, quaternion xyzw 3:7,
        linear velocity 7:10 in m/s, angular velocity 10:13 in rad/s
    env.commands: (num_envs, 3), the velocities asked for, in the base's own frame: ahead (x) in [-2, 2] m/s, left
        (y) in [-1, 1] m/s, and yaw rate (about z) in [-1, 1] rad/s; env.commands_x, env.commands_y and env.commands_yaw
        are its columns, (num_envs,)
    env.dof_pos, env.dof_vel: (num_envs, 12), hinge angles in rad and velocities in rad/s: hip abduction (HAA), hip
        flexion (HFE) and knee (KFE) of the legs LF, LH, RF, RH (left fore, left hind, right fore, right hind)
    env.default_dof_pos: (num_envs, 12), the angles in which the robot stands
    env.actions: (num_envs, 12), the policy's last actions in [-1, 1]; each hinge is driven towards
        default_dof_pos + 0.5 * actions
    env.torques: (num_envs, 12), what the drives exert on the hinges, in Nm, at most 80
    env.contact_forces: (num_envs, 13, 3), force of the ground on each body in N, world frame: the base, then hip, thigh
        and shank of LF, LH, RF, RH; a leg stands on its shank's foot, knees belong to the thighs
    env.gravity_vec: (num_envs, 3), the direction of gravity in the world, (0, 0, -1)
    """
    base_quat = env.root_states[:, 3:7]

    # velocities and the direction of gravity along the base's own axes
    base_lin_vel = quat_rotate_inverse(base_quat, env.root_states[:, 7:10])
    base_ang_vel = quat_rotate_inverse(base_quat, env.root_states[:, 10:13])
    projected_gravity = quat_rotate_inverse(base_quat, env.gravity_vec)

    env.obs_buf = torch.cat(
        (
            base_lin_vel * env.lin_vel_scale,  # 0:3
            base_ang_vel * env.ang_vel_scale,  # 3:6
            projected_gravity,  # 6:9, (0, 0, -1) on level feet
            env.commands[:, 0:2] * env.lin_vel_scale,  # 9:11
            env.commands[:, 2:3] * env.ang_vel_scale,  # 11
            (env.dof_pos - env.default_dof_pos) * env.dof_pos_scale,  # 12:24
            env.dof_vel * env.dof_vel_scale,  # 24:36
            env.actions,  # 36:48
        ),
        dim=-1,
    )
