"""What the info.py of the tasks of a Panda at a table share. Imports neither torch nor mujoco."""

from dataclasses import replace

from simulation.catalog import SAC_TABLETOP, Preset

ROBOT_INPUTS = {
    "robot_qpos": "Tensor (num_envs, 9)",
    "robot_qvel": "Tensor (num_envs, 9)",
    "tcp_pose": "Tensor (num_envs, 7)",
    "tcp_pos": "Tensor (num_envs, 3)",
}
CONTROL_DT, SUBSTEPS = 0.05, 5
MOVES_BEST = ("moves it all the way to the goal", "goes straight to it", "keeps it under control", "moves smoothly")
MOVES_WORST = ("does not reach it", "moves it only a little", "moves it the wrong way", "moves jerkily")
HOLDS_BEST = ("brings it where it should be", "grasps it well", "works precisely", "moves smoothly")
HOLDS_WORST = ("does not reach it", "does not grasp it", "drops it", "stops before the end")
"""Reasons that people may tap, for tasks in which a thing is moved along the table, or held."""
QUICK = Preset(
    worlds=256,
    horizon=16,
    iterations=500,
    epochs=6,
    minibatches=4,
    hidden=(128, 128),
    activation="silu",
    kl_target=0.02,
    initial_std=0.6,
    gamma=0.8,
    gae_lambda=0.9,
)
"""Success ends an episode, so what it pays must be worth more than waiting beside it: hence the low gamma."""
QUICK_GRASP = replace(QUICK, horizon=8, iterations=1500, entropy_weight=0.005)
"""For a thing that is held in the air: exploration must outlast the grasp."""
PAPER_SAC = SAC_TABLETOP
