"""CatchUnderarm: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import two_hands_info as hands

INFO = TaskInfo(
    name="CatchUnderarm",
    folder="catch_underarm",
    kind=hands.KIND,
    sentence="The orange robot hand should throw the egg across the gap to the blue one; both hands may move.",
    question="Which pair of hands throws and catches the egg better?",
    description="Throw the object underarm to the left hand, which catches it at the goal; both hands can move.",
    num_obs=422,
    num_actions=hands.ACTIONS,
    control_dt=hands.CONTROL_DT,
    substeps=hands.SUBSTEPS,
    episode_steps=75,
    inputs={
        **hands.HAND_INPUTS,
        **hands.OBJECT_INPUTS,
        **hands.GOAL_INPUTS,
        **hands.ACTION_INPUTS,
    },
    metric="share of episodes in which the egg comes within 0.03 m of the goal",
    reasons_best=hands.THROWS_BEST,
    reasons_worst=hands.THROWS_WORST,
    presets={"quick": hands.QUICK, "paper": hands.PAPER},
    clip_seconds=5.0,
    average_over_worlds=True,
)
