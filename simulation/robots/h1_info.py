"""What the info.py of the tasks of an H1 share. Imports neither torch nor mujoco."""

from dataclasses import replace

from simulation.catalog import SAC_HUMANOIDS, AnyPreset, Preset

KIND = "Humanoid at work"
CONTROL_DT, SUBSTEPS, EPISODE_STEPS = 0.02, 2, 500
ACTIONS = 25
ROBOT_INPUTS = {
    "root_states": "Tensor (num_envs, 13)",
    "joint_angles": "Tensor (num_envs, 25)",
    "joint_velocities": "Tensor (num_envs, 25)",
    "default_joint_angles": "Tensor (25,)",
    "joint_limits_lower": "Tensor (25,)",
    "joint_limits_upper": "Tensor (25,)",
    "actuator_forces": "Tensor (num_envs, 25)",
    "head_height": "Tensor (num_envs,)",
    "torso_upright": "Tensor (num_envs,)",
    "left_hand_position": "Tensor (num_envs, 3)",
    "right_hand_position": "Tensor (num_envs, 3)",
    "left_hand_velocity": "Tensor (num_envs, 3)",
    "right_hand_velocity": "Tensor (num_envs, 3)",
}
ACTION_INPUTS = {"actions": f"Tensor (num_envs, {ACTIONS})"}
BEST = ("does all of it", "keeps its balance", "looks natural", "moves smoothly")
WORST = ("does not reach it", "falls over", "moves it the wrong way", "shakes")
"""Reasons that people may tap."""
QUICK = Preset(
    worlds=256,
    horizon=32,
    iterations=1500,
    epochs=5,
    minibatches=4,
    hidden=(128, 128),
    activation="silu",
    kl_target=0.016,
    initial_std=0.15,
    reward_scale=0.1,
    gamma=0.98,
)
PAPER_SAC = SAC_HUMANOIDS
PRESETS: dict[str, AnyPreset] = {"quick": QUICK, "long": replace(QUICK, iterations=5000), "paper-sac": PAPER_SAC}
