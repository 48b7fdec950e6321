"""PlugCharger: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import tabletop_info as table

INFO = TaskInfo(
    name="PlugCharger",
    folder="plug_charger",
    kind="Arm at a table or cabinet",
    sentence="The robot arm should take the charger and plug it into the socket.",
    question="Which robot arm plugs in the charger better?",
    description="Grasp the charger and plug it into the receptacle.",
    num_obs=46,
    num_actions=8,
    control_dt=table.CONTROL_DT,
    substeps=table.SUBSTEPS,
    episode_steps=200,
    inputs={
        **table.ROBOT_INPUTS,
        "charger_pose": "Tensor (num_envs, 7)",
        "charger_pos": "Tensor (num_envs, 3)",
        "receptacle_pose": "Tensor (num_envs, 7)",
        "goal_pose": "Tensor (num_envs, 7)",
        "goal_pos": "Tensor (num_envs, 3)",
        "is_grasped": "Tensor (num_envs,)",
        "obj_to_goal_dist": "Tensor (num_envs,)",
        "obj_to_goal_angle": "Tensor (num_envs,)",
        "actions": "Tensor (num_envs, 8)",
    },
    metric="share of episodes that end with the charger in the socket",
    reasons_best=table.HOLDS_BEST,
    reasons_worst=table.HOLDS_WORST,
    presets={"quick": table.QUICK, "paper-sac": table.PAPER_SAC},
    revision=2,
)
