"""SwingCup: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import TaskInfo
from simulation.robots import two_hands_info as hands

INFO = TaskInfo(
    name="SwingCup",
    folder="swing_cup",
    kind=hands.KIND,
    sentence="The two robot hands should turn the cup around, until its black mark points to the blue hand.",
    question="Which pair of hands turns the cup around better?",
    description="Turn the cup on the table by its two handles to the goal orientation, half a turn about the vertical.",
    num_obs=417,
    num_actions=hands.ACTIONS,
    control_dt=hands.CONTROL_DT,
    substeps=hands.SUBSTEPS,
    episode_steps=300,
    inputs={
        **hands.HAND_INPUTS,
        **hands.OBJECT_INPUTS,
        **hands.GOAL_INPUTS,
        "cup_right_handle_pos": "Tensor (num_envs, 3)",
        "cup_left_handle_pos": "Tensor (num_envs, 3)",
        **hands.ACTION_INPUTS,
    },
    metric="share of episodes in which the cup is turned to within 0.785 rad of its goal",
    reasons_best=hands.WORKS_BEST,
    reasons_worst=hands.WORKS_WORST,
    presets={"quick": replace(hands.QUICK, iterations=300), "paper": hands.PAPER},
    clip_seconds=6.0,
    average_over_worlds=True,
)
