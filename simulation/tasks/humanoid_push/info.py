"""HumanoidPush: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import TaskInfo
from simulation.robots import h1_info as h1

INFO = TaskInfo(
    name="HumanoidPush",
    folder="humanoid_push",
    kind=h1.KIND,
    sentence="The humanoid robot should push the blue box on the table to the green ball.",
    question="Which humanoid robot pushes the box to the green ball better?",
    description="Push the box on the table to its goal with a hand.",
    num_obs=75,
    num_actions=h1.ACTIONS,
    control_dt=h1.CONTROL_DT,
    substeps=h1.SUBSTEPS,
    episode_steps=h1.EPISODE_STEPS,
    inputs={
        **h1.ROBOT_INPUTS,
        "box": "Tensor (num_envs, 3)",
        "box_vel": "Tensor (num_envs, 3)",
        "goal": "Tensor (num_envs, 3)",
        **h1.ACTION_INPUTS,
    },
    metric="share of episodes in which the box comes within 0.05 m of its goal",
    reasons_best=h1.BEST,
    reasons_worst=h1.WORST,
    presets=h1.PRESETS | {"quick": replace(h1.QUICK, iterations=2000)},
    average_over_worlds=True,
    revision=2,
)
