"""Quadcopter: names, texts, presets."""

from simulation.catalog import SAC_TABLETOP, Preset, TaskInfo

INFO = TaskInfo(
    name="Quadcopter",
    folder="quadcopter",
    sentence="The quadcopter should fly to the red ball and hover there.",
    description="Make the quadcopter reach a fixed point, at (0, 0, 1), and hover near it.",
    num_obs=21,
    num_actions=12,
    control_dt=0.01,
    substeps=2,
    episode_steps=500,
    inputs={
        "root_positions": "Tensor (num_envs, 3)",
        "root_quats": "Tensor (num_envs, 4)",
        "root_linvels": "Tensor (num_envs, 3)",
        "root_angvels": "Tensor (num_envs, 3)",
        "dof_positions": "Tensor (num_envs, 8)",
        "dof_velocities": "Tensor (num_envs, 8)",
        "thrusts": "Tensor (num_envs, 4)",
        "actions": "Tensor (num_envs, 12)",
    },
    metric="distance to the target at the end of an episode in m, negated",
    presets={
        "quick": Preset(
            worlds=64,
            horizon=32,
            iterations=600,
            epochs=5,
            minibatches=2,
            hidden=(64, 64),
            activation="silu",
            learning_rate=1e-3,
            kl_target=0.02,
            reward_scale=0.1,
            initial_std=0.25,
            gamma=0.98,
        ),
        "paper": Preset(
            worlds=8192,
            horizon=8,
            iterations=500,
            epochs=8,
            minibatches=4,
            hidden=(256, 256, 128),
            learning_rate=1e-3,
            kl_target=0.016,
            reward_scale=0.1,
        ),
        "paper-sac": SAC_TABLETOP,
    },
)
