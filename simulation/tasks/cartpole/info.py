"""Cartpole: names, texts, presets."""

from simulation.catalog import Preset, TaskInfo

INFO = TaskInfo(
    name="Cartpole",
    folder="cartpole",
    sentence="The cart should move so that the pole on it stays upright.",
    description="Balance a pole on a cart so that the pole stays upright.",
    num_obs=4,
    num_actions=1,
    control_dt=1 / 60,
    substeps=2,
    episode_steps=500,
    inputs={
        "dof_pos": "Tensor (num_envs, 2)",
        "dof_vel": "Tensor (num_envs, 2)",
        "obs_buf": "Tensor (num_envs, 4)",
        "actions": "Tensor (num_envs, 1)",
    },
    metric="episode duration in steps, at most 499",
    presets={
        "quick": Preset(
            worlds=64,
            horizon=32,
            iterations=60,
            epochs=5,
            minibatches=2,
            hidden=(32, 32),
            activation="silu",
            learning_rate=1e-3,
            kl_target=0.02,
            reward_scale=0.1,
            initial_std=0.5,
            gamma=0.98,
        ),
        "paper": Preset(
            worlds=512,
            horizon=16,
            iterations=100,
            epochs=8,
            minibatches=1,
            hidden=(32, 32),
            reward_scale=0.1,
        ),
    },
)
