"""PegInsertionSide: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import tabletop_info as table

INFO = TaskInfo(
    name="PegInsertionSide",
    folder="peg_insertion_side",
    kind="Arm at a table or cabinet",
    sentence="The robot arm should take the peg and push its orange end into the hole of the block.",
    question="Which robot arm pushes the peg into the hole better?",
    description="Grasp the peg at its tail and insert its head into the hole in the side of the box.",
    num_obs=43,
    num_actions=8,
    control_dt=table.CONTROL_DT,
    substeps=table.SUBSTEPS,
    episode_steps=100,
    inputs={
        **table.ROBOT_INPUTS,
        "peg_pose": "Tensor (num_envs, 7)",
        "peg_pos": "Tensor (num_envs, 3)",
        "peg_head_pos": "Tensor (num_envs, 3)",
        "peg_half_size": "Tensor (num_envs, 3)",
        "box_hole_pose": "Tensor (num_envs, 7)",
        "box_hole_pos": "Tensor (num_envs, 3)",
        "box_hole_radius": "Tensor (num_envs,)",
        "is_grasped": "Tensor (num_envs,)",
        "actions": "Tensor (num_envs, 8)",
    },
    metric="share of episodes that end with the peg's head in the middle of the box",
    reasons_best=table.HOLDS_BEST,
    reasons_worst=table.HOLDS_WORST,
    presets={"quick": table.QUICK, "paper-sac": table.PAPER_SAC},
    revision=2,
)
