"""PokeCube: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import tabletop_info as table

INFO = TaskInfo(
    name="PokeCube",
    folder="poke_cube",
    kind="Arm at a table or cabinet",
    sentence="The robot arm should take the blue peg and push the red cube with it, onto the red and white disc.",
    question="Which robot arm pushes the cube with the peg better?",
    description="Grasp the peg and poke the cube with its head, so that the cube moves to the goal region.",
    num_obs=54,
    num_actions=8,
    control_dt=table.CONTROL_DT,
    substeps=table.SUBSTEPS,
    episode_steps=50,
    inputs={
        **table.ROBOT_INPUTS,
        "cube_pose": "Tensor (num_envs, 7)",
        "cube_pos": "Tensor (num_envs, 3)",
        "peg_pose": "Tensor (num_envs, 7)",
        "peg_pos": "Tensor (num_envs, 3)",
        "peg_head_pos": "Tensor (num_envs, 3)",
        "goal_pos": "Tensor (num_envs, 3)",
        "is_grasped": "Tensor (num_envs,)",
        "angle_diff": "Tensor (num_envs,)",
        "head_to_cube_dist": "Tensor (num_envs,)",
        "actions": "Tensor (num_envs, 8)",
    },
    metric="share of episodes that end with the cube on the disc and the robot still",
    reasons_best=table.HOLDS_BEST,
    reasons_worst=table.HOLDS_WORST,
    presets={"quick": table.QUICK_GRASP, "paper-sac": table.PAPER_SAC},
    revision=2,
)
