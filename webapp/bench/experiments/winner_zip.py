"""The winner of an experiment as a zip: its reward function if it has one, its final policy, and a script that runs
that policy.
"""

from __future__ import annotations

import io
import zipfile

from webapp.base.store import store
from webapp.experiments import provenance
from webapp.experiments.candidates import describe_answers
from webapp.experiments.kinds import train
from webapp.experiments.models import Experiment

RUN = '''\
"""One episode of the policy beside this file. In a checkout of Prefine: PYTHONPATH=. .venv/bin/python FOLDER/run.py"""

from pathlib import Path

from simulation.environment import Environment
from trainer.checkpoint import load_policy

policy = load_policy(Path(__file__).with_name("policy.pt"))
env, metrics, ended = Environment(policy.task, worlds=1, seed=0), [], False
while not ended:
    step = env.step(policy(env.obs_buf))
    metrics += step.metric[step.metric_counts].tolist()
    ended = bool((step.terminated | step.truncated).any())
print(f"{policy.task}: mean of the metric over {len(metrics)} steps: {sum(metrics) / max(1, len(metrics)):.3f}")
'''
README = """\
The winner of “{name}”, candidate {key}: {task}, {method}, seed {seed}. Written with Prefine {version}.

{reward}policy.pt   the final policy of its training (PyTorch, read without running code).
            Its score and films: ./prefine evaluate FOLDER/policy.pt --film best worst
run.py      one episode of the policy in plain Python. It needs a checkout of Prefine, and of its packages torch,
            numpy and mujoco alone: PYTHONPATH=CHECKOUT python FOLDER/run.py
"""

REWARD = "reward.py   the reward function. Train it again: ./prefine train --task {task} --reward FOLDER/reward.py\n"


def find_policy(experiment: Experiment, candidate: str) -> str:
    """The key in the store of the final policy of this candidate (its id as methods use it); empty without one."""
    training = train.find_training(experiment, candidate)
    if training is None:
        return ""
    request, position = training
    key = f"{request.run_key}/checkpoints/policies/{position}.pt"
    return key if store.size(key) is not None else ""


def write_zip(experiment: Experiment) -> bytes:
    """Raises FileNotFoundError if there is no winner, or no policy of it."""
    winner = experiment.winner
    key = find_policy(experiment, winner.key) if winner else ""
    if winner is None or not key:
        raise FileNotFoundError(f"no policy of the winner of {experiment}")
    with store.open(key) as file:
        policy = file.read()
    about = {"name": experiment.name or str(experiment), "key": winner.key, "task": experiment.task}
    about |= {"method": experiment.method, "seed": str(experiment.seed), "version": provenance.get_running_version()}
    program = "reward.py   that program\n" if winner.source else ""
    learned = f"{describe_answers(winner)}\n{program}"
    about["reward"] = learned if experiment.asks_pairs else REWARD.format(**about)
    files: dict[str, str | bytes] = {"README.txt": README.format(**about), "policy.pt": policy, "run.py": RUN}
    if winner.source:
        files["reward.py"] = winner.source
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"{get_stem(experiment)}/{name}", content)
    return out.getvalue()


def get_stem(experiment: Experiment) -> str:
    """The name of the folder, and of the zip without its ending."""
    return f"{experiment.task.lower()}-{experiment.method.replace('_', '-')}-{str(experiment.public_id)[:8]}"
