"""Anymal: names, texts, presets."""

from simulation.catalog import SAC_HUMANOIDS, Preset, TaskInfo

LEGS = ("LF", "LH", "RF", "RH")
DOF_NAMES = tuple(f"{leg}_{joint}" for leg in LEGS for joint in ("HAA", "HFE", "KFE"))
"""The 12 hinges in the order of dof_pos and of the actions: hip abduction, hip flexion, knee of each leg."""
BODY_NAMES = ("base", *(f"{leg}_{part}" for leg in LEGS for part in ("HIP", "THIGH", "SHANK")))
"""The 13 bodies in the order of contact_forces."""

INFO = TaskInfo(
    name="Anymal",
    folder="anymal",
    kind="Locomotion",
    sentence=(
        "The robot should walk as the green arrow above it says: where it points, as fast as it is long, turning as it "
        "bends."
    ),
    question="Which robot follows the green arrow better?",
    description="Make the four-legged robot follow randomly chosen x, y and yaw target velocities.",
    num_obs=48,
    num_actions=12,
    control_dt=0.02,
    substeps=2,
    episode_steps=2500,
    inputs={
        "root_states": "Tensor (num_envs, 13)",
        "commands": "Tensor (num_envs, 3)",
        "commands_x": "Tensor (num_envs,)",
        "commands_y": "Tensor (num_envs,)",
        "commands_yaw": "Tensor (num_envs,)",
        "dof_pos": "Tensor (num_envs, 12)",
        "dof_vel": "Tensor (num_envs, 12)",
        "default_dof_pos": "Tensor (num_envs, 12)",
        "gravity_vec": "Tensor (num_envs, 3)",
        "torques": "Tensor (num_envs, 12)",
        "contact_forces": "Tensor (num_envs, 13, 3)",
        "actions": "Tensor (num_envs, 12)",
        "lin_vel_scale": "float",
        "ang_vel_scale": "float",
        "dof_pos_scale": "float",
        "dof_vel_scale": "float",
    },
    metric="minus the squared errors of planar velocity (m/s) and yaw rate (rad/s)",
    reasons_best=("follows the arrow", "steps evenly", "keeps its body level", "turns as asked"),
    reasons_worst=("goes the wrong way", "stumbles", "falls over", "hardly moves", "shakes"),
    presets={
        "quick": Preset(
            worlds=256,
            horizon=16,
            iterations=600,
            epochs=5,
            minibatches=4,
            hidden=(128, 128),
            activation="silu",
            gamma=0.98,
            kl_target=0.02,
            initial_std=0.5,
        ),
        "paper": Preset(
            worlds=4096,
            horizon=24,
            iterations=1000,
            epochs=5,
            minibatches=3,
            hidden=(256, 128, 64),
        ),
        "paper-sac": SAC_HUMANOIDS,
    },
)
