"""GraspAndPlace: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import two_hands_info as hands

INFO = TaskInfo(
    name="GraspAndPlace",
    folder="grasp_and_place",
    kind=hands.KIND,
    sentence="The blue robot hand should bring the red block to the bucket, which the orange one may bring.",
    question="Which pair of hands gets the block into the bucket better?",
    description="Grasp the block with the left hand, the bucket with the right one, and put the block into it.",
    num_obs=425,
    num_actions=hands.ACTIONS,
    control_dt=hands.CONTROL_DT,
    substeps=hands.SUBSTEPS,
    episode_steps=500,
    inputs={
        **hands.HAND_INPUTS,
        **hands.OBJECT_INPUTS,
        "goal_pos": "Tensor (num_envs, 3)",
        "block_right_handle_pos": "Tensor (num_envs, 3)",
        "block_right_handle_rot": "Tensor (num_envs, 4)",
        "block_left_handle_pos": "Tensor (num_envs, 3)",
        "block_left_handle_rot": "Tensor (num_envs, 4)",
        **hands.ACTION_INPUTS,
    },
    metric="share of episodes in which the block comes within 0.2 m of the bucket",
    reasons_best=hands.WORKS_BEST,
    reasons_worst=hands.WORKS_WORST,
    presets={"quick": hands.QUICK, "paper": hands.PAPER},
    clip_seconds=8.0,
    average_over_worlds=True,
)
