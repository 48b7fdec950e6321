"""Humanoid: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import LONG_LEGGED, QUICK_LEGGED, SAC_HUMANOIDS, Preset, TaskInfo

LEG_DOFS = ("hip_x", "hip_z", "hip_y", "knee", "ankle_x", "ankle_y")
ARM_DOFS = ("shoulder1", "shoulder2", "elbow")
DOF_NAMES = (
    *("abdomen_y", "abdomen_z", "abdomen_x"),
    *(f"{side}_{dof}" for side in ("right", "left") for dof in LEG_DOFS),
    *(f"{side}_{dof}" for side in ("right", "left") for dof in ARM_DOFS),
)
"""The 21 hinges in the order of dof_pos and of the actions."""

INFO = TaskInfo(
    name="Humanoid",
    folder="humanoid",
    kind="Locomotion",
    sentence="The robot should run forward as fast as it can.",
    question="Which robot runs forward faster?",
    description="Make the humanoid robot run as fast as possible.",
    num_obs=108,
    num_actions=21,
    control_dt=1 / 60,
    substeps=2,
    episode_steps=1000,
    inputs={
        "root_states": "Tensor (num_envs, 13)",
        "torso_position": "Tensor (num_envs, 3)",
        "velocity": "Tensor (num_envs, 3)",
        "targets": "Tensor (num_envs, 3)",
        "potentials": "Tensor (num_envs,)",
        "prev_potentials": "Tensor (num_envs,)",
        "up_vec": "Tensor (num_envs, 3)",
        "heading_vec": "Tensor (num_envs, 3)",
        "inv_start_rot": "Tensor (num_envs, 4)",
        "dof_pos": "Tensor (num_envs, 21)",
        "dof_vel": "Tensor (num_envs, 21)",
        "dof_force_tensor": "Tensor (num_envs, 21)",
        "dof_limits_lower": "Tensor (21,)",
        "dof_limits_upper": "Tensor (21,)",
        "vec_sensor_tensor": "Tensor (num_envs, 12)",
        "actions": "Tensor (num_envs, 21)",
        "dt": "float",
        "dof_vel_scale": "float",
        "contact_force_scale": "float",
        "angular_velocity_scale": "float",
    },
    metric="forward progress in m/s",
    reasons_best=("runs fast", "keeps its balance", "runs straight", "looks natural"),
    reasons_worst=("falls over", "hardly moves", "limps", "runs to the side", "looks strange"),
    presets={
        "quick": QUICK_LEGGED,
        "long": replace(LONG_LEGGED, iterations=3500),
        "paper": Preset(
            worlds=4096,
            horizon=32,
            iterations=1000,
            epochs=5,
            minibatches=4,
            hidden=(400, 200, 100),
            learning_rate=5e-4,
            reward_scale=0.01,
        ),
        "paper-sac": SAC_HUMANOIDS,
    },
)
