"""LiftUnderarm: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import two_hands_info as hands

INFO = TaskInfo(
    name="LiftUnderarm",
    folder="lift_underarm",
    kind=hands.KIND,
    sentence="The two robot hands should lift the pot by its handles, up to the green one.",
    question="Which pair of hands lifts the pot better?",
    description="Lift the pot by its two handles, one hand at each, up to the goal position.",
    num_obs=417,
    num_actions=hands.ACTIONS,
    control_dt=hands.CONTROL_DT,
    substeps=hands.SUBSTEPS,
    episode_steps=500,
    inputs={
        **hands.HAND_INPUTS,
        **hands.OBJECT_INPUTS,
        **hands.GOAL_INPUTS,
        "pot_right_handle_pos": "Tensor (num_envs, 3)",
        "pot_left_handle_pos": "Tensor (num_envs, 3)",
        **hands.ACTION_INPUTS,
    },
    metric="share of episodes in which the pot comes within 0.05 m of its goal",
    reasons_best=hands.WORKS_BEST,
    reasons_worst=hands.WORKS_WORST,
    presets={"quick": hands.QUICK, "paper": hands.PAPER},
    clip_seconds=8.0,
    average_over_worlds=True,
)
