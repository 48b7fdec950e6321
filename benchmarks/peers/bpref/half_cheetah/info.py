"""HalfCheetah: what people and language models are told, and how it is trained beside B-Pref."""

from simulation.catalog import QUICK_LEGGED, SacPreset, TaskInfo

INFO = TaskInfo(
    name="HalfCheetah",
    folder="half_cheetah",
    sentence="The robot should run forward as fast as it can.",
    question="Which robot runs forward faster?",
    description="Make the two-legged robot run forward as fast as possible with little effort.",
    num_obs=17,
    num_actions=6,
    control_dt=0.05,
    substeps=5,
    episode_steps=1000,
    inputs={
        "forward_velocity": "Tensor (num_envs,)",
        "dof_pos": "Tensor (num_envs, 9)",
        "dof_vel": "Tensor (num_envs, 9)",
        "actions": "Tensor (num_envs, 6)",
    },
    metric="gymnasium's reward a step",
    presets={
        "quick": QUICK_LEGGED,
        "quick-sac": SacPreset(
            worlds=4,
            horizon=8,
            iterations=625,
            updates=6,
            batch=128,
            learning_starts=512,
            actor_width=64,
            critic_width=128,
            critic_blocks=1,
            learning_rate=1e-3,
        ),
    },
)
