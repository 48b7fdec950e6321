"""LiftPegUpright: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import TaskInfo
from simulation.robots import tabletop_info as table

INFO = TaskInfo(
    name="LiftPegUpright",
    folder="lift_peg_upright",
    kind="Arm at a table or cabinet",
    sentence="The robot arm should stand the lying peg upright on the table.",
    question="Which robot arm stands the peg upright better?",
    description="Lift the peg that lies on the table and stand it upright on the table.",
    num_obs=32,
    num_actions=8,
    control_dt=table.CONTROL_DT,
    substeps=table.SUBSTEPS,
    episode_steps=50,
    inputs={
        **table.ROBOT_INPUTS,
        "obj_pose": "Tensor (num_envs, 7)",
        "obj_pos": "Tensor (num_envs, 3)",
        "is_grasped": "Tensor (num_envs,)",
        "actions": "Tensor (num_envs, 8)",
    },
    metric="share of episodes that end with the peg upright on the table",
    reasons_best=table.HOLDS_BEST,
    reasons_worst=table.HOLDS_WORST,
    presets={"quick": replace(table.QUICK_GRASP, entropy_weight=0.003), "paper-sac": table.PAPER_SAC},
    revision=2,
)
