"""Ant: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import LONG_LEGGED, QUICK_LEGGED, SAC_HUMANOIDS, Preset, TaskInfo

JOINT_INPUTS = {
    "dof_pos": "Tensor (num_envs, 8)",
    "dof_vel": "Tensor (num_envs, 8)",
    "dof_limits_lower": "Tensor (8,)",
    "dof_limits_upper": "Tensor (8,)",
    "vec_sensor_tensor": "Tensor (num_envs, 24)",
    "actions": "Tensor (num_envs, 8)",
    "dt": "float",
    "dof_vel_scale": "float",
    "contact_force_scale": "float",
}
"""Reward inputs of hinges, feet and motors that all tasks of this robot share."""

INFO = TaskInfo(
    name="Ant",
    folder="ant",
    kind="Locomotion",
    sentence="The robot should run forward as fast as it can.",
    question="Which robot runs forward faster?",
    description="Make the four-legged robot run forward as fast as possible.",
    num_obs=60,
    num_actions=8,
    control_dt=1 / 60,
    substeps=2,
    episode_steps=1000,
    inputs={
        "root_states": "Tensor (num_envs, 13)",
        "targets": "Tensor (num_envs, 3)",
        "potentials": "Tensor (num_envs,)",
        "prev_potentials": "Tensor (num_envs,)",
        "up_vec": "Tensor (num_envs, 3)",
        "heading_vec": "Tensor (num_envs, 3)",
        "inv_start_rot": "Tensor (num_envs, 4)",
        **JOINT_INPUTS,
    },
    metric="forward progress in m/s",
    reasons_best=("runs fast", "keeps going straight", "uses all four legs", "runs smoothly"),
    reasons_worst=("hardly moves", "runs in a circle", "turns over", "drags a leg", "shakes"),
    presets={
        "quick": replace(QUICK_LEGGED, iterations=400),
        "long": LONG_LEGGED,
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
