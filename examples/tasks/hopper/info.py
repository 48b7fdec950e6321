"""Hopper: what the site, people and language models are told, and how it is trained."""

from dataclasses import replace

from simulation.catalog import QUICK_LEGGED, TaskInfo

INFO = TaskInfo(
    name="Hopper",
    folder="hopper",
    sentence="The robot should hop forward as fast as it can.",
    question="Which robot hops forward faster?",
    description="Make the one-legged robot hop forward as fast as possible without falling.",
    num_obs=11,
    num_actions=3,
    control_dt=0.01,
    substeps=4,
    episode_steps=1000,
    inputs={
        "trunk_height": "Tensor (num_envs,)",
        "trunk_pitch": "Tensor (num_envs,)",
        "velocity": "Tensor (num_envs, 2)",
        "dof_pos": "Tensor (num_envs, 6)",
        "dof_vel": "Tensor (num_envs, 6)",
        "actions": "Tensor (num_envs, 3)",
    },
    metric="forward speed in m/s",
    presets={"quick": replace(QUICK_LEGGED, iterations=400)},
)
