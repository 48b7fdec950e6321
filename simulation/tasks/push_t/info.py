"""PushT: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import TaskInfo
from simulation.robots import tabletop_info as table

INFO = TaskInfo(
    name="PushT",
    folder="push_t",
    kind="Arm at a table or cabinet",
    sentence="The robot arm should push the red T onto its grey outline.",
    question="Which robot arm pushes the T onto its outline better?",
    description="Push the T-shaped block along the table until it covers the goal T.",
    num_obs=35,
    num_actions=8,
    control_dt=table.CONTROL_DT,
    substeps=table.SUBSTEPS,
    episode_steps=100,
    inputs={
        **table.ROBOT_INPUTS,
        "obj_pose": "Tensor (num_envs, 7)",
        "obj_pos": "Tensor (num_envs, 3)",
        "obj_yaw": "Tensor (num_envs,)",
        "goal_pos": "Tensor (num_envs, 3)",
        "goal_yaw": "Tensor (num_envs,)",
        "inter_area": "Tensor (num_envs,)",
        "actions": "Tensor (num_envs, 8)",
    },
    metric="share of episodes that end with the T on 90% of its outline",
    reasons_best=table.MOVES_BEST,
    reasons_worst=table.MOVES_WORST,
    presets={"quick": replace(table.QUICK, gamma=0.99), "paper-sac": table.PAPER_SAC},
)
