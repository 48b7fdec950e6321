"""AntLieDown: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import QUICK_LEGGED, TaskInfo
from simulation.tasks.ant.info import INFO as ANT
from simulation.tasks.ant.info import JOINT_INPUTS

INFO = TaskInfo(
    name="AntLieDown",
    folder="ant_lie_down",
    kind="Locomotion",
    sentence="The robot should turn over and lie on its back, its feet to the sky, quickly and without rocking.",
    question="Which robot turns over and lies on its back better?",
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
        **JOINT_INPUTS,
    },
    metric="share of episodes that end on the back (belly-up alignment above 0.9)",
    reasons_best=("lies on its back", "feet point to the sky", "turns over quickly", "lies still"),
    reasons_worst=("does not turn over", "rocks", "turns over too slowly", "lies on its side"),
    presets={
        "quick": replace(QUICK_LEGGED, iterations=250),
        "paper": ANT.presets["paper"],
        "paper-sac": ANT.presets["paper-sac"],
    },
)
