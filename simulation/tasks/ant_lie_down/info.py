"""AntLieDown: names, texts, presets."""

from simulation.catalog import SAC_HUMANOIDS, Preset, TaskInfo

INFO = TaskInfo(
    name="AntLieDown",
    folder="ant_lie_down",
    sentence="The robot should turn over and lie on its back, its feet to the sky, quickly and without rocking.",
    description=(
        "Make the four-legged robot lie down on its back with its feet to the sky: quickly, then stay there, stable."
    ),
    num_obs=58,
    num_actions=8,
    control_dt=1 / 60,
    substeps=2,
    episode_steps=600,
    inputs={
        "root_states": "Tensor (num_envs, 13)",
        "up_vec": "Tensor (num_envs, 3)",
        "heading_vec": "Tensor (num_envs, 3)",
        "dof_pos": "Tensor (num_envs, 8)",
        "dof_vel": "Tensor (num_envs, 8)",
        "dof_limits_lower": "Tensor (8,)",
        "dof_limits_upper": "Tensor (8,)",
        "vec_sensor_tensor": "Tensor (num_envs, 24)",
        "actions": "Tensor (num_envs, 8)",
        "dt": "float",
        "dof_vel_scale": "float",
        "contact_force_scale": "float",
    },
    metric="share of episodes that end on the back (belly-up alignment above 0.9)",
    presets={
        "quick": Preset(
            worlds=64,
            horizon=32,
            iterations=250,
            epochs=5,
            minibatches=2,
            hidden=(128, 128),
            activation="silu",
            kl_target=0.02,
            reward_scale=0.1,
            initial_std=0.5,
            gamma=0.98,
        ),
        "paper": Preset(
            worlds=4096,
            horizon=16,
            iterations=500,
            epochs=4,
            minibatches=2,
            hidden=(256, 128, 64),
            reward_scale=0.01,
        ),
        "paper-sac": SAC_HUMANOIDS,
    },
)
