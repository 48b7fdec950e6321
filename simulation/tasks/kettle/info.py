"""Kettle: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import two_hands_info as hands

INFO = TaskInfo(
    name="Kettle",
    folder="kettle",
    kind=hands.KIND,
    sentence="The orange robot hand should bring the spout of the kettle over the bucket, as if to pour.",
    question="Which pair of hands brings the kettle to the bucket better?",
    description="Hold the kettle by its handle and bring its spout over the bucket, as if to pour.",
    num_obs=417,
    num_actions=hands.ACTIONS,
    control_dt=hands.CONTROL_DT,
    substeps=hands.SUBSTEPS,
    episode_steps=125,
    inputs={
        **hands.HAND_INPUTS,
        **hands.OBJECT_INPUTS,
        "goal_pos": "Tensor (num_envs, 3)",
        "kettle_handle_pos": "Tensor (num_envs, 3)",
        "kettle_spout_pos": "Tensor (num_envs, 3)",
        "bucket_handle_pos": "Tensor (num_envs, 3)",
        **hands.ACTION_INPUTS,
    },
    metric="share of episodes in which the spout comes within 0.05 m of the opening of the bucket",
    reasons_best=hands.WORKS_BEST,
    reasons_worst=hands.WORKS_WORST,
    presets={"quick": hands.QUICK, "paper": hands.PAPER},
    clip_seconds=5.0,
    average_over_worlds=True,
)
