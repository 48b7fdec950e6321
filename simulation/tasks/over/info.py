"""Over: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import two_hands_info as hands

INFO = TaskInfo(
    name="Over",
    folder="over",
    kind=hands.KIND,
    sentence="The orange robot hand should throw the egg to the blue one, which should catch it at the green egg.",
    question="Which pair of hands passes the egg over better?",
    description="Throw the object from the right hand to the left hand, which catches it at the goal position.",
    num_obs=398,
    num_actions=40,
    control_dt=hands.CONTROL_DT,
    substeps=hands.SUBSTEPS,
    episode_steps=75,
    inputs={
        **hands.HAND_INPUTS,
        **hands.OBJECT_INPUTS,
        **hands.GOAL_INPUTS,
        "actions": "Tensor (num_envs, 40)",
    },
    metric="share of episodes in which the egg comes within 0.03 m of the goal",
    reasons_best=hands.THROWS_BEST,
    reasons_worst=hands.THROWS_WORST,
    presets={"quick": hands.QUICK, "paper": hands.PAPER},
    clip_seconds=5.0,
    average_over_worlds=True,
)
