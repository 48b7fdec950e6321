"""HumanoidBasketball: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import h1_info as h1

INFO = TaskInfo(
    name="HumanoidBasketball",
    folder="humanoid_basketball",
    kind=h1.KIND,
    sentence="The humanoid robot should catch the ball that flies to it and throw it into the basket.",
    question="Which humanoid robot catches the ball and throws it into the basket better?",
    description="Catch the ball and throw it into the hoop.",
    num_obs=76,
    num_actions=h1.ACTIONS,
    control_dt=h1.CONTROL_DT,
    substeps=h1.SUBSTEPS,
    episode_steps=h1.EPISODE_STEPS,
    inputs={
        **h1.ROBOT_INPUTS,
        "basketball_position": "Tensor (num_envs, 3)",
        "basketball_rotation": "Tensor (num_envs, 4)",
        "basketball_velocity": "Tensor (num_envs, 3)",
        "basketball_angular_velocity": "Tensor (num_envs, 3)",
        "hoop_center": "Tensor (3,)",
        "stage": "Tensor (num_envs,)",
        **h1.ACTION_INPUTS,
    },
    metric="share of episodes in which the ball passes within 0.05 m of the middle of the hoop",
    reasons_best=h1.BEST,
    reasons_worst=h1.WORST,
    presets=h1.PRESETS,
    average_over_worlds=True,
)
