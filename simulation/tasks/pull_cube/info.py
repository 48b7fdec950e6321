"""PullCube: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import TaskInfo
from simulation.robots import tabletop_info as table

INFO = TaskInfo(
    name="PullCube",
    folder="pull_cube",
    kind="Arm at a table or cabinet",
    sentence="The robot arm should pull the blue cube back, onto the red and white disc.",
    question="Which robot arm pulls the cube onto the disc better?",
    description="Pull the cube back along the table to the goal region.",
    num_obs=35,
    num_actions=8,
    control_dt=table.CONTROL_DT,
    substeps=table.SUBSTEPS,
    episode_steps=50,
    inputs={
        **table.ROBOT_INPUTS,
        "obj_pose": "Tensor (num_envs, 7)",
        "obj_pos": "Tensor (num_envs, 3)",
        "goal_pos": "Tensor (num_envs, 3)",
        "actions": "Tensor (num_envs, 8)",
    },
    metric="share of episodes that end with the cube on the disc",
    reasons_best=table.MOVES_BEST,
    reasons_worst=table.MOVES_WORST,
    presets={"quick": replace(table.QUICK, iterations=150, gamma=0.9), "paper-sac": table.PAPER_SAC},
)
