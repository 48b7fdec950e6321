"""AntPatrolAndReturn: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import QUICK_LEGGED, TaskInfo
from simulation.tasks.ant.info import INFO as ANT
from simulation.tasks.ant.info import JOINT_INPUTS

INFO = TaskInfo(
    name="AntPatrolAndReturn",
    folder="ant_patrol_and_return",
    kind="Locomotion",
    sentence="The robot should run to the flag ahead, turn, and come back to where it started.",
    question="Which robot runs to the flag and back better?",
    description="Make the four-legged robot run to a checkpoint ahead, turn, and return to the place where it started.",
    num_obs=62,
    num_actions=8,
    control_dt=1 / 60,
    substeps=2,
    episode_steps=600,
    inputs={
        "root_states": "Tensor (num_envs, 13)",
        "targets": "Tensor (num_envs, 3)",
        "phase": "Tensor (num_envs,)",
        "potentials": "Tensor (num_envs,)",
        "prev_potentials": "Tensor (num_envs,)",
        "up_vec": "Tensor (num_envs, 3)",
        "heading_vec": "Tensor (num_envs, 3)",
        **JOINT_INPUTS,
    },
    metric="share of episodes that end back at the start (within 0.5 m, after the checkpoint)",
    reasons_best=("reaches the flag", "comes back to the start", "turns without a stop", "runs fast"),
    reasons_worst=("misses the flag", "does not turn", "does not come back", "hardly moves"),
    presets={
        "quick": QUICK_LEGGED,
        "paper": replace(ANT.presets["paper"], iterations=1000),
        "paper-sac": ANT.presets["paper-sac"],
    },
)
