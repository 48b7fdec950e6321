"""PullCubeTool: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import tabletop_info as table

INFO = TaskInfo(
    name="PullCubeTool",
    folder="pull_cube_tool",
    kind="Arm at a table or cabinet",
    sentence="The robot arm should take the red hook and pull the blue cube close with it.",
    question="Which robot arm pulls the cube close with the hook better?",
    description="Grasp the L-shaped tool and pull the cube, which is out of reach, close to the robot's base with it.",
    num_obs=39,
    num_actions=8,
    control_dt=table.CONTROL_DT,
    substeps=table.SUBSTEPS,
    episode_steps=100,
    inputs={
        **table.ROBOT_INPUTS,
        "cube_pose": "Tensor (num_envs, 7)",
        "cube_pos": "Tensor (num_envs, 3)",
        "tool_pose": "Tensor (num_envs, 7)",
        "tool_pos": "Tensor (num_envs, 3)",
        "is_grasped": "Tensor (num_envs,)",
        "actions": "Tensor (num_envs, 8)",
    },
    metric="share of episodes that end with the cube less than 0.6 m from the robot's base",
    reasons_best=table.HOLDS_BEST,
    reasons_worst=table.HOLDS_WORST,
    presets={"quick": table.QUICK, "paper-sac": table.PAPER_SAC},
    revision=2,
)
