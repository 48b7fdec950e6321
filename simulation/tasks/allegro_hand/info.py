"""AllegroHand: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import Preset, TaskInfo
from simulation.tasks.shadow_hand.info import CUBE_INPUTS
from simulation.tasks.shadow_hand.info import INFO as SHADOW_HAND

INFO = TaskInfo(
    name="AllegroHand",
    folder="allegro_hand",
    kind="Hands",
    sentence=SHADOW_HAND.sentence,
    question=SHADOW_HAND.question,
    description=SHADOW_HAND.description,
    num_obs=88,
    num_actions=16,
    control_dt=1 / 30,
    substeps=4,
    episode_steps=600,
    inputs={
        **CUBE_INPUTS,
        "shadow_hand_dof_pos": "Tensor (num_envs, 16)",
        "shadow_hand_dof_vel": "Tensor (num_envs, 16)",
        "shadow_hand_dof_lower_limits": "Tensor (16,)",
        "shadow_hand_dof_upper_limits": "Tensor (16,)",
        "dof_force_tensor": "Tensor (num_envs, 16)",
        "actions": "Tensor (num_envs, 16)",
    },
    metric="consecutive successes per episode",
    final_metric=True,
    reasons_best=SHADOW_HAND.reasons_best,
    reasons_worst=SHADOW_HAND.reasons_worst,
    presets={
        "quick": replace(SHADOW_HAND.presets["quick"], gamma=0.98),
        "paper": Preset(
            worlds=16384,
            horizon=8,
            iterations=5000,
            epochs=5,
            minibatches=4,
            hidden=(512, 256, 128),
            learning_rate=5e-4,
            kl_target=0.016,
            reward_scale=0.01,
        ),
        "paper-sac": SHADOW_HAND.presets["paper-sac"],
    },
)
