"""What the info.py of the tasks with two hands share. Imports neither torch nor mujoco."""

from simulation.catalog import Preset

KIND = "Two hands"
CONTROL_DT, SUBSTEPS = 1 / 60, 2
ACTIONS = 52
HAND_INPUTS = {
    "right_hand_pos": "Tensor (num_envs, 3)",
    "left_hand_pos": "Tensor (num_envs, 3)",
    "right_hand_rot": "Tensor (num_envs, 4)",
    "left_hand_rot": "Tensor (num_envs, 4)",
    "fingertip_pos": "Tensor (num_envs, 5, 3)",
    "fingertip_another_pos": "Tensor (num_envs, 5, 3)",
    **{
        f"{side}_hand_{finger}_pos": "Tensor (num_envs, 3)"
        for side in ("right", "left")
        for finger in ("ff", "mf", "rf", "lf", "th")
    },
    "shadow_hand_dof_pos": "Tensor (num_envs, 24)",
    "shadow_hand_dof_vel": "Tensor (num_envs, 24)",
    "shadow_hand_another_dof_pos": "Tensor (num_envs, 24)",
    "shadow_hand_another_dof_vel": "Tensor (num_envs, 24)",
    "shadow_hand_dof_lower_limits": "Tensor (24,)",
    "shadow_hand_dof_upper_limits": "Tensor (24,)",
    "dof_force_tensor": "Tensor (num_envs, 48)",
    "fingertip_state": "Tensor (num_envs, 5, 13)",
    "fingertip_another_state": "Tensor (num_envs, 5, 13)",
    "vec_sensor_tensor": "Tensor (num_envs, 60)",
}
OBJECT_INPUTS = {
    "object_pos": "Tensor (num_envs, 3)",
    "object_rot": "Tensor (num_envs, 4)",
    "object_pose": "Tensor (num_envs, 7)",
    "object_linvel": "Tensor (num_envs, 3)",
    "object_angvel": "Tensor (num_envs, 3)",
}
GOAL_INPUTS = {
    "goal_pos": "Tensor (num_envs, 3)",
    "goal_rot": "Tensor (num_envs, 4)",
    "goal_pose": "Tensor (num_envs, 7)",
}
ACTION_INPUTS = {"actions": f"Tensor (num_envs, {ACTIONS})"}
THROWS_BEST = ("throws it well", "catches it safely", "the other hand is where it comes down", "moves smoothly")
THROWS_WORST = ("does not throw it", "throws it past the other hand", "drops it", "fingers shake")
WORKS_BEST = ("does all of it", "both hands help", "holds it well", "moves smoothly")
WORKS_WORST = ("does not reach it", "one hand does nothing", "loses hold of it", "moves jerkily")
"""Reasons that people may tap, for tasks in which a thing is thrown, and for all others."""
QUICK = Preset(
    worlds=256,
    horizon=16,
    iterations=600,
    epochs=5,
    minibatches=4,
    hidden=(256, 128),
    activation="silu",
    kl_target=0.016,
    initial_std=0.8,
    gamma=0.96,
)
PAPER = Preset(
    worlds=2048,
    horizon=8,
    iterations=6104,
    epochs=5,
    minibatches=4,
    hidden=(1024, 1024, 512),
    kl_target=0.016,
    initial_std=0.8,
    gamma=0.96,
)
"""The PPO of Bi-DexHands, in the worlds and for the 100 million steps of its figures."""
