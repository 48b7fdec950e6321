"""BlockStack: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import two_hands_info as hands

INFO = TaskInfo(
    name="BlockStack",
    folder="block_stack",
    kind=hands.KIND,
    sentence="The robot hands should bring the two blocks together and put the red one on the green one.",
    question="Which pair of hands stacks the blocks better?",
    description="Stack the two blocks between the hands: the right block below, the left block on top of it.",
    num_obs=428,
    num_actions=hands.ACTIONS,
    control_dt=hands.CONTROL_DT,
    substeps=hands.SUBSTEPS,
    episode_steps=250,
    inputs={
        **hands.HAND_INPUTS,
        **hands.OBJECT_INPUTS,
        **hands.GOAL_INPUTS,
        "block_pose": "Tensor (num_envs, 7)",
        "block_pos": "Tensor (num_envs, 3)",
        "block_rot": "Tensor (num_envs, 4)",
        "block_linvel": "Tensor (num_envs, 3)",
        "block_angvel": "Tensor (num_envs, 3)",
        "block_right_handle_pos": "Tensor (num_envs, 3)",
        "block_left_handle_pos": "Tensor (num_envs, 3)",
        **hands.ACTION_INPUTS,
    },
    metric="share of episodes in which both blocks are stacked in the middle",
    reasons_best=hands.WORKS_BEST,
    reasons_worst=hands.WORKS_WORST,
    presets={"quick": hands.QUICK, "paper": hands.PAPER},
    clip_seconds=5.0,
    average_over_worlds=True,
)
