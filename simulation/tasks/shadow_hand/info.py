"""ShadowHand: names, texts, presets."""

from simulation.catalog import SAC_TABLETOP, Preset, TaskInfo

CUBE_INPUTS = {
    "object_pos": "Tensor (num_envs, 3)",
    "object_rot": "Tensor (num_envs, 4)",
    "object_pose": "Tensor (num_envs, 7)",
    "object_linvel": "Tensor (num_envs, 3)",
    "object_angvel": "Tensor (num_envs, 3)",
    "goal_pos": "Tensor (num_envs, 3)",
    "goal_rot": "Tensor (num_envs, 4)",
    "goal_pose": "Tensor (num_envs, 7)",
}
"""What a reward of either hand may read of the cube and its goal."""

INFO = TaskInfo(
    name="ShadowHand",
    folder="shadow_hand",
    kind="Hands",
    sentence="The hand should turn the cube until it lies like the floating one, again and again, without dropping it.",
    question="Which hand is better at turning the cube until it lies like the floating one?",
    description="Make the hand spin the object to a target orientation.",
    num_obs=211,
    num_actions=20,
    control_dt=1 / 60,
    substeps=2,
    episode_steps=600,
    inputs={
        **CUBE_INPUTS,
        "shadow_hand_dof_pos": "Tensor (num_envs, 24)",
        "shadow_hand_dof_vel": "Tensor (num_envs, 24)",
        "shadow_hand_dof_lower_limits": "Tensor (24,)",
        "shadow_hand_dof_upper_limits": "Tensor (24,)",
        "dof_force_tensor": "Tensor (num_envs, 24)",
        "fingertip_pos": "Tensor (num_envs, 5, 3)",
        "fingertip_state": "Tensor (num_envs, 5, 13)",
        "vec_sensor_tensor": "Tensor (num_envs, 30)",
        "actions": "Tensor (num_envs, 20)",
    },
    metric="consecutive successes per episode",
    final_metric=True,
    reasons_best=("turns the cube as shown", "turns it quickly", "holds the cube safely", "moves its fingers smoothly"),
    reasons_worst=("drops the cube", "turns it the wrong way", "hardly turns it", "fingers shake"),
    presets={
        "quick": Preset(
            worlds=256,
            horizon=16,
            iterations=600,
            epochs=5,
            minibatches=2,
            hidden=(256, 128),
            activation="silu",
            kl_target=0.02,
            reward_scale=0.01,
            gamma=0.99,
        ),
        "paper": Preset(
            worlds=16384,
            horizon=8,
            iterations=5000,
            epochs=5,
            minibatches=4,
            hidden=(512, 512, 256, 128),
            learning_rate=5e-4,
            kl_target=0.016,
            reward_scale=0.01,
        ),
        "paper-sac": SAC_TABLETOP,
    },
)
