"""The policy that a round's training starts from, in place of random weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simulation import catalog
from trainer.records import WARM
from webapp.base.store import store
from webapp.base.store_interface import save_copy
from webapp.experiments import run_folder
from webapp.experiments.kinds.train import find_training
from webapp.experiments.models import Experiment, Request
from webapp.experiments.models.loop_settings import TrainingStart
from webapp.experiments.shorter_rounds import find_rounds_before


@dataclass(frozen=True)
class Start:
    name: str
    """The name in words, for an error."""
    candidate: str = ""
    """The id of the candidate whose final policy it is; empty for the task's policy that stays up."""
    experiment: Experiment | None = None
    """The experiment of that candidate."""
    file: Path | None = None


def find_start(request: Request) -> Start | None:
    """What a Train request starts from: what its method names, else what the experiment's settings say.

    None: random weights. The answer stays the same while the request is open: rounds before it are judged.
    """
    experiment = request.experiment
    if (request.payload.get("pairs") or {}).get("prior"):
        winner = experiment.retrains
        found = (winner.key, winner.iteration.experiment) if winner else ("", None)
        return Start("the policy of the winner that it goes on from", *found)
    key = request.payload.get("warm") or ""
    if not key and experiment.training_start in (TrainingStart.BEST, TrainingStart.BEST_SHORT):
        key = _find_last_best(request)
    if key:
        return Start(f"the policy of {key}", key, experiment)
    if experiment.training_start == TrainingStart.RANDOM:
        return None
    file = catalog.find_upright_policy(experiment.task, experiment.preset)
    return Start("the policy that stays up", file=file) if file else None


def fetch_start(request: Request, start: Start) -> bool:
    """Put the policy into the training's folder, unless it is there. False if it is gone."""
    target = run_folder.get_folder(request) / WARM
    if target.exists():
        return True
    try:
        if start.file:
            with start.file.open("rb") as file:
                save_copy(file, target)
        elif start.experiment and (place := find_training(start.experiment, start.candidate)):
            earlier, position = place
            store.fetch(f"{earlier.run_key}/checkpoints/policies/{position}.pt", target)
    except FileNotFoundError:
        return False
    return target.exists()


def _find_last_best(request: Request) -> str:
    """The id of the best of the last round before this one that has one; empty where there is none."""
    before = find_rounds_before(request.experiment, request.payload["iteration"])
    last = before.exclude(best=None).select_related("best__iteration").last()
    return last.best.key if last and last.best else ""
