"""BottleCap: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import two_hands_info as hands

INFO = TaskInfo(
    name="BottleCap",
    folder="bottle_cap",
    kind=hands.KIND,
    sentence="The blue robot hand should hold the bottle while the orange one takes off its cap.",
    question="Which pair of hands opens the bottle better?",
    description="Hold the bottle with the left hand and take off its cap with the right hand.",
    num_obs=420,
    num_actions=hands.ACTIONS,
    control_dt=hands.CONTROL_DT,
    substeps=hands.SUBSTEPS,
    episode_steps=125,
    inputs={
        **hands.HAND_INPUTS,
        **hands.OBJECT_INPUTS,
        "goal_pos": "Tensor (num_envs, 3)",
        "bottle_pos": "Tensor (num_envs, 3)",
        "bottle_cap_pos": "Tensor (num_envs, 3)",
        "bottle_cap_up": "Tensor (num_envs, 3)",
        **hands.ACTION_INPUTS,
    },
    metric="share of episodes in which the cap comes off by more than 0.03 m",
    reasons_best=hands.WORKS_BEST,
    reasons_worst=hands.WORKS_WORST,
    presets={"quick": hands.QUICK, "paper": hands.PAPER},
    clip_seconds=3.0,
    average_over_worlds=True,
)
