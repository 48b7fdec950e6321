"""BottleCap: two robot hands that float; the left one holds a bottle, whose cap the right one takes off."""

from typing import Any

import torch


def compute_observations(env: Any) -> None:
    """Run after every control step (1/60 s). All tensors are float32, one row per environment; world frame, z up.

    The bottle begins at (0.015, -0.6, 0.513) and leans towards -x by 0.7 rad, in the palm of the left hand, whose
    fingers point along -y. Its cap is 15 cm along its axis. The right hand's fingers point along +y and up,
    its palm looks down.

    env.right_hand_pos, env.left_hand_pos: (num_envs, 3), the middle of each palm in m
    env.right_hand_rot, env.left_hand_rot: (num_envs, 4), its quaternion xyzw; fingers point along the palm's z axis,
        and close towards its -y axis
    env.right_hand_ff_pos, _mf_pos, _rf_pos, _lf_pos, _th_pos, env.left_hand_ff_pos and so on: (num_envs, 3), the tips
        of index, middle, ring and little finger and of the thumb
    env.fingertip_state, env.fingertip_another_state: (num_envs, 5, 13), the last links of the right and of the left
        hand's fingers: position 0:3, quaternion xyzw 3:7, linear velocity 7:10, angular velocity 10:13;
        env.fingertip_pos, env.fingertip_another_pos: (num_envs, 5, 3)
    env.vec_sensor_tensor: (num_envs, 60), per fingertip, right hand first, the force in N (3) and torque in Nm (3) of
        what presses on it
    env.shadow_hand_dof_pos, env.shadow_hand_dof_vel, env.shadow_hand_another_dof_pos, env.shadow_hand_another_dof_vel:
        (num_envs, 24), hinge angles in rad and velocities in rad/s of the right and of the left hand: two of the wrist,
        four each of index, middle and ring finger, five of the little finger, five of the thumb
    env.shadow_hand_dof_lower_limits, env.shadow_hand_dof_upper_limits: (24,), the range of each hinge in rad
    env.dof_force_tensor: (num_envs, 48), torque in Nm of the motor at each hinge, right hand first
    env.actions: (num_envs, 52), the last actions in [-1, 1], right hand 0:26, left hand 26:52; of each the push of its
        base along x, y, z, the turn about x, y, z, then 20 hinges, from -1 (lower limit) to 1 (upper limit)
    env.hands_obs: (num_envs, 398), all of both hands: hinges, fingertips, position and angles of the base, actions
    env.object_pos, env.object_rot: (num_envs, 3) in m and (num_envs, 4), position and quaternion xyzw of the bottle;
        env.object_pose: (num_envs, 7), both together
    env.object_linvel, env.object_angvel: (num_envs, 3), its velocity in m/s and angular velocity in rad/s
    env.bottle_pos: (num_envs, 3), the bottle's middle
    env.bottle_cap_pos: (num_envs, 3), where the cap is when it is closed
    env.bottle_cap_up: (num_envs, 3), the bottle's middle, moved along the bottle by as much as the cap has come off
    env.goal_pos: (num_envs, 3), 1 m above where the bottle begins; nothing depends on it
    """
    env.obs_buf = torch.cat(
        (
            env.hands_obs,  # 0:398
            env.object_pose,  # 398:405
            env.object_linvel,  # 405:408
            env.object_angvel * env.vel_obs_scale,  # 408:411
            env.bottle_pos,  # 411:414
            env.bottle_cap_pos,  # 414:417
            env.bottle_cap_up,  # 417:420
        ),
        dim=-1,
    )
