"""RollBall: names, texts, presets."""

from dataclasses import replace

from simulation.catalog import TaskInfo
from simulation.robots import tabletop_info as table

INFO = TaskInfo(
    name="RollBall",
    folder="roll_ball",
    kind="Arm at a table or cabinet",
    sentence="The robot arm should hit the blue ball so that it rolls onto the red and white disc.",
    question="Which robot arm rolls the ball onto the disc better?",
    description="Hit the ball so that it rolls to the goal region at the other end of the table.",
    num_obs=44,
    num_actions=8,
    control_dt=table.CONTROL_DT,
    substeps=table.SUBSTEPS,
    episode_steps=80,
    inputs={
        **table.ROBOT_INPUTS,
        "ball_pose": "Tensor (num_envs, 7)",
        "ball_pos": "Tensor (num_envs, 3)",
        "ball_vel": "Tensor (num_envs, 3)",
        "goal_pos": "Tensor (num_envs, 3)",
        "tcp_to_ball_pos": "Tensor (num_envs, 3)",
        "ball_to_goal_pos": "Tensor (num_envs, 3)",
        "reached_status": "Tensor (num_envs,)",
        "actions": "Tensor (num_envs, 8)",
    },
    metric="share of episodes that end with the ball on the disc",
    reasons_best=table.MOVES_BEST,
    reasons_worst=table.MOVES_WORST,
    presets={"quick": replace(table.QUICK, iterations=1500, gamma=0.95), "paper-sac": table.PAPER_SAC},
)
