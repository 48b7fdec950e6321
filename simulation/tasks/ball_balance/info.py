"""BallBalance: names, texts, presets."""

from simulation.catalog import SAC_TABLETOP, Preset, TaskInfo

INFO = TaskInfo(
    name="BallBalance",
    folder="ball_balance",
    sentence="The table should tilt so that the ball stays on it.",
    description="Keep the ball on the table top, so that it does not roll off.",
    num_obs=24,
    num_actions=3,
    control_dt=0.01,
    substeps=2,
    episode_steps=500,
    inputs={
        "dof_positions": "Tensor (num_envs, 6)",
        "dof_velocities": "Tensor (num_envs, 6)",
        "ball_positions": "Tensor (num_envs, 3)",
        "ball_linvels": "Tensor (num_envs, 3)",
        "tray_positions": "Tensor (num_envs, 3)",
        "sensor_forces": "Tensor (num_envs, 3, 3)",
        "sensor_torques": "Tensor (num_envs, 3, 3)",
        "actions": "Tensor (num_envs, 3)",
    },
    metric="episode duration in steps, at most 499",
    presets={
        "quick": Preset(
            worlds=64,
            horizon=32,
            iterations=400,
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
            worlds=4096,
            horizon=16,
            iterations=250,
            epochs=8,
            minibatches=8,
            hidden=(128, 64, 32),
            reward_scale=0.1,
        ),
        "paper-sac": SAC_TABLETOP,
    },
)
