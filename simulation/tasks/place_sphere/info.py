"""PlaceSphere: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import tabletop_info as table

INFO = TaskInfo(
    name="PlaceSphere",
    folder="place_sphere",
    kind="Arm at a table or cabinet",
    sentence="The robot arm should put the blue ball into the small tray and let go of it.",
    question="Which robot arm puts the ball into the tray better?",
    description="Grasp the ball, place it into the shallow bin and let go of it.",
    num_obs=39,
    num_actions=8,
    control_dt=table.CONTROL_DT,
    substeps=table.SUBSTEPS,
    episode_steps=50,
    inputs={
        **table.ROBOT_INPUTS,
        "obj_pose": "Tensor (num_envs, 7)",
        "obj_pos": "Tensor (num_envs, 3)",
        "obj_linvel": "Tensor (num_envs, 3)",
        "obj_angvel": "Tensor (num_envs, 3)",
        "bin_pos": "Tensor (num_envs, 3)",
        "is_grasped": "Tensor (num_envs,)",
        "tcp_to_obj_pos": "Tensor (num_envs, 3)",
        "actions": "Tensor (num_envs, 8)",
    },
    metric="share of episodes that end with the ball at rest in the tray, let go",
    reasons_best=table.HOLDS_BEST,
    reasons_worst=table.HOLDS_WORST,
    presets={"quick": table.QUICK_GRASP, "paper-sac": table.PAPER_SAC},
    revision=2,
)
