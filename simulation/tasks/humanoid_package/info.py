"""HumanoidPackage: names, texts, presets."""

from simulation.catalog import TaskInfo
from simulation.robots import h1_info as h1

INFO = TaskInfo(
    name="HumanoidPackage",
    folder="humanoid_package",
    kind=h1.KIND,
    sentence="The humanoid robot should bring the blue package to the green ball.",
    question="Which humanoid robot brings the package to the green ball better?",
    description="Carry or push the package to its destination.",
    num_obs=85,
    num_actions=h1.ACTIONS,
    control_dt=h1.CONTROL_DT,
    substeps=h1.SUBSTEPS,
    episode_steps=h1.EPISODE_STEPS,
    inputs={
        **h1.ROBOT_INPUTS,
        "package_destination": "Tensor (num_envs, 3)",
        "package_location": "Tensor (num_envs, 3)",
        "package_rotation": "Tensor (num_envs, 4)",
        "package_velocity": "Tensor (num_envs, 3)",
        "package_angular_velocity": "Tensor (num_envs, 3)",
        **h1.ACTION_INPUTS,
    },
    metric="share of episodes in which the package comes within 0.1 m of its destination",
    reasons_best=h1.BEST,
    reasons_worst=h1.WORST,
    presets=h1.PRESETS,
    average_over_worlds=True,
)
