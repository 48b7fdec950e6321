"""HumanoidJump: names, texts, presets. It has no metric: people decide."""

from dataclasses import replace

from simulation.catalog import LONG_LEGGED, QUICK_LEGGED, TaskInfo
from simulation.tasks.humanoid.info import DOF_NAMES
from simulation.tasks.humanoid.info import INFO as HUMANOID

INFO = TaskInfo(
    name="HumanoidJump",
    folder="humanoid_jump",
    kind="Locomotion",
    sentence="The robot should jump like a real human.",
    question="Which robot jumps more like a real human?",
    description="Make the humanoid robot jump like a real human.",
    num_obs=108,
    num_actions=21,
    control_dt=1 / 60,
    substeps=2,
    episode_steps=1000,
    inputs={
        "torso_position": "Tensor (num_envs, 3)",
        "prev_torso_position": "Tensor (num_envs, 3)",
        "velocity_world": "Tensor (num_envs, 3)",
        "angular_velocity_world": "Tensor (num_envs, 3)",
        "velocity_local": "Tensor (num_envs, 3)",
        "angular_velocity_local": "Tensor (num_envs, 3)",
        "up_vec": "Tensor (num_envs, 3)",
        "heading_vec": "Tensor (num_envs, 3)",
        "right_leg_contact_force": "Tensor (num_envs, 3)",
        "left_leg_contact_force": "Tensor (num_envs, 3)",
        "dof_pos": "Tensor (num_envs, 21)",
        "dof_vel": "Tensor (num_envs, 21)",
        "dof_force_tensor": "Tensor (num_envs, 21)",
        "actions": "Tensor (num_envs, 21)",
        **{name: "Tensor (num_envs,)" for name in DOF_NAMES},
    },
    metric=None,
    revision=2,
    reasons_best=("jumps high", "swings its arms", "bends its knees first", "lands safely", "looks natural"),
    reasons_worst=("does not leave the ground", "falls over", "lands hard", "looks strange"),
    presets={
        "quick": replace(QUICK_LEGGED, gamma=0.99),
        "long": LONG_LEGGED,
        "paper": HUMANOID.presets["paper"],
        "paper-sac": HUMANOID.presets["paper-sac"],
    },
)
