"""DoorCloseOutward: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import TaskInfo
from simulation.robots import two_hands_info as hands

INFO = TaskInfo(
    name="DoorCloseOutward",
    folder="door_close_outward",
    kind=hands.KIND,
    sentence="The two robot hands should close the open double door.",
    question="Which pair of hands closes the double door better?",
    description="Close the double door with both hands: each hand takes the handle of its wing and pulls it shut.",
    num_obs=417,
    num_actions=hands.ACTIONS,
    control_dt=hands.CONTROL_DT,
    substeps=hands.SUBSTEPS,
    episode_steps=250,
    inputs={
        **hands.HAND_INPUTS,
        **hands.OBJECT_INPUTS,
        "goal_pos": "Tensor (num_envs, 3)",
        "door_right_handle_pos": "Tensor (num_envs, 3)",
        "door_left_handle_pos": "Tensor (num_envs, 3)",
        **hands.ACTION_INPUTS,
    },
    metric="share of episodes in which the handles come closer than 0.5 m",
    reasons_best=hands.WORKS_BEST,
    reasons_worst=hands.WORKS_WORST,
    presets={"quick": replace(hands.QUICK, iterations=300), "paper": hands.PAPER},
    clip_seconds=5.0,
    average_over_worlds=True,
)
