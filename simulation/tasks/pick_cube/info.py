"""PickCube: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import tabletop_info as table

INFO = TaskInfo(
    name="PickCube",
    folder="pick_cube",
    kind="Arm at a table or cabinet",
    sentence="The robot arm should grasp the red cube and hold it still at the green ball.",
    question="Which robot arm brings the cube to the green ball better?",
    description="Grasp the cube, lift it to the goal position and hold it still there.",
    num_obs=42,
    num_actions=8,
    control_dt=table.CONTROL_DT,
    substeps=table.SUBSTEPS,
    episode_steps=50,
    inputs={
        **table.ROBOT_INPUTS,
        "obj_pose": "Tensor (num_envs, 7)",
        "obj_pos": "Tensor (num_envs, 3)",
        "goal_pos": "Tensor (num_envs, 3)",
        "is_grasped": "Tensor (num_envs,)",
        "tcp_to_obj_pos": "Tensor (num_envs, 3)",
        "obj_to_goal_pos": "Tensor (num_envs, 3)",
        "actions": "Tensor (num_envs, 8)",
    },
    metric="share of episodes that end with the cube at the goal and the robot still",
    reasons_best=table.HOLDS_BEST,
    reasons_worst=table.HOLDS_WORST,
    presets={"quick": table.QUICK_GRASP, "paper-sac": table.PAPER_SAC},
    revision=2,
)
