"""HumanoidDoor: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import h1_info as h1

INFO = TaskInfo(
    name="HumanoidDoor",
    folder="humanoid_door",
    kind=h1.KIND,
    sentence="The humanoid robot should turn the handle, pull the door open and walk out of the room.",
    question="Which humanoid robot opens the door and walks out better?",
    description="Turn the door's handle, pull the door open and walk out through it.",
    num_obs=67,
    num_actions=h1.ACTIONS,
    control_dt=h1.CONTROL_DT,
    substeps=h1.SUBSTEPS,
    episode_steps=h1.EPISODE_STEPS,
    inputs={
        **h1.ROBOT_INPUTS,
        "door_hinge": "Tensor (num_envs,)",
        "door_hinge_velocity": "Tensor (num_envs,)",
        "door_hatch_hinge": "Tensor (num_envs,)",
        "door_hatch_hinge_velocity": "Tensor (num_envs,)",
        "door_hatch_position": "Tensor (num_envs, 3)",
        "imu_position": "Tensor (num_envs, 3)",
        **h1.ACTION_INPUTS,
    },
    metric="share of episodes in which the robot walks out of the room",
    reasons_best=h1.BEST,
    reasons_worst=h1.WORST,
    presets=h1.PRESETS,
    average_over_worlds=True,
)
