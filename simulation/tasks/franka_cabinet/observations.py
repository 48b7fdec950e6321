"""FrankaCabinet: a robot arm of seven hinges with a two-finger gripper, and a cabinet of two doors and two drawers."""

from typing import Any

import torch

from simulation.rotations import quat_rotate


def compute_observations(env: Any) -> None:
    """Run after every control step (1/60 s). All tensors are float32, one row per environment; positions are in m in
    the world frame, rotations are quaternions xyzw.

    The cabinet opens towards +x, the arm stands in front of it and reaches towards -x; z points up. The handle is a bar
    along y on the front of the top drawer.

    env.franka_dof_pos, env.franka_dof_vel: (num_envs, 9), seven hinge angles in rad from the base to the hand, then how
        far the left and the right finger are from the hand's middle, 0 (closed) to 0.04 m; and their velocities
    env.franka_dof_lower_limits, env.franka_dof_upper_limits: (9,), their ranges
    env.cabinet_dof_pos, env.cabinet_dof_vel: (num_envs, 4), left door, right door (rad), bottom drawer, top drawer
        (m, 0 closed to 0.4 open), and their velocities
    env.hand_pos, env.hand_rot: the hand; its fingers point along its z axis and move along its y axis
    env.franka_lfinger_pos, env.franka_rfinger_pos: (num_envs, 3), where the fingers begin, 0.045 m behind their pads;
        env.franka_lfinger_rot, env.franka_rfinger_rot: (num_envs, 4), both as the hand's
    env.drawer_pos, env.drawer_rot: the top drawer
    env.gripper_forward_axis, env.gripper_up_axis: (num_envs, 3), (0, 0, 1) and (0, 1, 0) in the frame of the grasp
        (franka_grasp_rot): where the fingers point, and from the right finger to the left
    env.drawer_inward_axis, env.drawer_up_axis: (num_envs, 3), (-1, 0, 0) and (0, 0, 1) in the frame of the drawer
        (drawer_grasp_rot): into the cabinet, and up
    env.actions: (num_envs, 9), the policy's last actions in [-1, 1]; they move the angles that the hinges are driven to
        at up to 7.5 rad/s and the fingers at up to 0.75 m/s
    """
    # where the gripper grasps: between the pads of the fingers
    env.franka_grasp_pos = env.hand_pos + quat_rotate(env.hand_rot, env.gripper_grasp_offset)
    env.franka_grasp_rot = env.hand_rot

    # where the drawer is to be grasped: the middle of the handle's bar
    env.drawer_grasp_pos = env.drawer_pos + quat_rotate(env.drawer_rot, env.drawer_grasp_offset)
    env.drawer_grasp_rot = env.drawer_rot

    drawer_opened = env.cabinet_dof_pos[:, 3]  # drawer opening
    drawer_speed = env.cabinet_dof_vel[:, 3]  # drawer opening velocity

    franka_dof_pos_scaled = (2.0 * env.franka_dof_pos - env.franka_dof_upper_limits - env.franka_dof_lower_limits) / (
        env.franka_dof_upper_limits - env.franka_dof_lower_limits
    )

    env.obs_buf = torch.cat(
        (
            franka_dof_pos_scaled,  # 0:9, -1 and 1 at the limits
            env.franka_dof_vel * env.dof_vel_scale,  # 9:18
            env.drawer_grasp_pos - env.franka_grasp_pos,  # 18:21, from the gripper to the handle
            torch.stack((drawer_opened, drawer_speed), dim=-1),  # 21:23, of the top drawer
        ),
        dim=-1,
    )
