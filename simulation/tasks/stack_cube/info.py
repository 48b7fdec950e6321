"""StackCube: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import TaskInfo
from simulation.robots import tabletop_info as table

INFO = TaskInfo(
    name="StackCube",
    folder="stack_cube",
    kind="Arm at a table or cabinet",
    sentence="The robot arm should put the red cube on top of the green cube and let go of it.",
    question="Which robot arm stacks the cubes better?",
    description="Grasp cube A, place it on top of cube B and let go of it.",
    num_obs=48,
    num_actions=8,
    control_dt=table.CONTROL_DT,
    substeps=table.SUBSTEPS,
    episode_steps=50,
    inputs={
        **table.ROBOT_INPUTS,
        "cubeA_pose": "Tensor (num_envs, 7)",
        "cubeA_pos": "Tensor (num_envs, 3)",
        "cubeA_linvel": "Tensor (num_envs, 3)",
        "cubeA_angvel": "Tensor (num_envs, 3)",
        "cubeB_pose": "Tensor (num_envs, 7)",
        "cubeB_pos": "Tensor (num_envs, 3)",
        "is_grasped": "Tensor (num_envs,)",
        "tcp_to_cubeA_pos": "Tensor (num_envs, 3)",
        "cubeA_to_cubeB_pos": "Tensor (num_envs, 3)",
        "actions": "Tensor (num_envs, 8)",
    },
    metric="share of episodes that end with the red cube at rest on the green one, let go",
    reasons_best=table.HOLDS_BEST,
    reasons_worst=table.HOLDS_WORST,
    presets={"quick": replace(table.QUICK_GRASP, iterations=3000), "paper-sac": table.PAPER_SAC},
    revision=2,
)
