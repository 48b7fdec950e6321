"""What goes into and comes out of a training run, as files in one folder. Imports neither torch nor mujoco.

JOB_DIR/
  job.json                       TrainJob, written by the caller
  warm.pt                        a policy to start from, written by the caller where the job says so
  cancel                         create this empty file to stop the run at the next iteration
  progress.json                  Progress, replaced atomically, at most twice a second
  rollouts/<index>-<percent>.npz one filmed policy's states, e.g. 0-010.npz, 0-030.npz, 0-100.npz; with the value of
                                 each reward component in each of them at 100
  rollouts/<index>-100-<n>.npz   the same of a final policy from other starts, n = 2, 3, ... as the job says
  clips/<index>-<percent>.mp4 .jpg   written by `simulation.film`, started by the caller
  checkpoints/                   resume state, private to the trainer; policies/<index>.pt for evaluation;
                                 split.json and preset.json, with which the run began
  traces/<index>.csv             a row per interval that the RTS is the maximum over: samples, metric, episode_length,
                                 reward, reward/<component>; written at the end
  preferences/<index>.csv        where a candidate learns from pairs: a row per session, its figures; beside it
                                 <index>-points.csv: learned and true sums of some of its segments, and the metric's;
                                 <index>-held-out.csv: how often it is right on answers that are kept from it
  queries/, answers/             pairs to film, and what others than a teacher answer: see trainer.preferences.exchange
  result.json                    TrainResult; its presence means that the run is over
  log.txt                        what the run printed
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from simulation import catalog
from simulation.catalog import AnyPreset, SacPreset
from simulation.names import describe_unknown
from trainer.preferences.algorithms import Preferences, require_sound

WARM = "warm.pt"
DROPPED = "dropped.json"
"""A file in a shard's folder: the candidates that the shard goes on without."""
FINAL = 100
"""The percentage of the budget at which a policy is done."""


@dataclass(frozen=True)
class TrainJob:
    """One lockstep training run of K reward functions on one task."""

    task: str
    """A name in simulation.catalog.TASKS."""
    sources: tuple[str, ...]
    """K reward function sources."""
    preset: str = "quick"
    """A preset of the task, which decides the algorithm: quick or paper (PPO), quick-sac or paper-sac."""
    seed: int = 0
    """Initial weights, reset noise, action noise and minibatch order derive from it, equal for all K."""
    overrides: dict[str, float | int] = field(default_factory=dict)
    """Fields of the preset to replace, e.g. {"iterations": 3}."""
    film_at: tuple[int, ...] = (10, 30, 100)
    """Percentages of the budget at which each policy's rollout is recorded for filming."""
    rollouts: int = 1
    """Rollouts that are recorded of each final policy, each from a start of its own."""
    processes: int = 0
    """Processes to split K over on a CPU; 0 = one per core."""
    warm: bool = False
    """All K start from the policy in warm.pt of the folder (a policies/<index>.pt of another run), not from random
    weights."""
    shared_experience: bool = False
    """Each of the K learns from what all K lived through, with rewards of its own function: a candidate's result then
    depends on the others. One process trains all K. SAC only: PPO learns from what its own policy did."""
    seeds: tuple[int, ...] = ()
    """A seed for each of the K, in place of `seed`: several seeds, or several experiments, in one batch. A candidate's
    result is the same as in a job with its seed alone."""
    preferences: tuple[Preferences | None, ...] = ()
    """For each of the K how its policy learns from answers about pairs; None: from its reward function. Empty: all
    learn from theirs."""
    by_metric: bool = False
    """The reward is the hidden metric where it counts, and 0 elsewhere; the functions are only traced."""
    episodes: int = 0
    """Whole episodes over which each final policy's mean actions are evaluated; 0: none."""
    revision: int = 1
    """The task's, when the training began: it is not continued, nor copied, after the task has changed."""

    def seed_of(self, index: int) -> int:
        """The seed of a candidate."""
        return self.seeds[index] if self.seeds else self.seed

    def preferences_of(self, index: int) -> Preferences | None:
        """How a candidate learns from pairs, if it does."""
        return self.preferences[index] if self.preferences else None


@dataclass(frozen=True)
class CandidateProgress:
    """The progress of one candidate."""

    index: int
    status: str = "training"
    """training, done or failed."""
    reason: str = ""
    fraction: float = 0.0
    rollouts: tuple[int, ...] = ()
    """Percentages whose rollout file is complete."""


@dataclass(frozen=True)
class Progress:
    """Progress of a run; seconds_left is None until it can be estimated honestly."""

    phase: str = "starting"
    """starting, training, waiting (for answers about pairs) or done."""
    fraction: float = 0.0
    seconds_left: float | None = None
    samples: int = 0
    samples_per_second: float = 0.0
    """Without the time in which rewards were learned from pairs."""
    candidates: tuple[CandidateProgress, ...] = ()
    learning_seconds: float = 0.0
    """In which rewards have been learned from pairs, since the process began."""
    learning_left: float | None = 0.0
    """Seconds that the sessions ahead will take, but for those that wait for answers; None before it is known."""
    waits_at: float | None = None
    """The fraction at which it stops next to wait for answers; None: it does not."""


@dataclass(frozen=True)
class CandidateResult:
    """The result of one candidate's training."""

    index: int
    ok: bool
    reason: str = ""
    trace: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Component (also "total", "episode_length") -> {"samples": about ten interval means, "max", "mean", "min"}."""
    metric_trace: dict[str, Any] = field(default_factory=dict)
    """The hidden metric in the same form, with every interval in "all"; empty where the task has none."""
    rts: float | None = None
    """Maximum of the metric over the intervals."""
    final_score: float | None = None
    evaluation: dict[str, Any] = field(default_factory=dict)
    """Of the final policy's mean actions, where the job asks for it: trainer.evaluation.summarize_evaluation."""
    samples: int = 0
    nan_worlds: int = 0
    """Worlds that went non-finite and were terminated, counted over the run."""


@dataclass(frozen=True)
class TrainResult:
    """A whole run. `error` is set, and ok False for all, when the run itself failed."""

    candidates: tuple[CandidateResult, ...]
    seconds: float = 0.0
    samples: int = 0
    cancelled: bool = False
    error: str = ""


def get_rollout_path(folder: Path, index: int, percent: int, number: int = 1) -> Path:
    """Where the rollout of a candidate of this run is, from the `number`-th start."""
    return folder / "rollouts" / f"{index}-{percent:03d}{f'-{number}' if number > 1 else ''}.npz"


def write_json(path: Path, record: Any) -> None:
    """Replace `path` atomically with the record as JSON."""
    write_text(path, json.dumps(asdict(record)))


def write_text(path: Path, text: str) -> None:
    """Replace `path` atomically with this text."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        temporary.write_text(text)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    os.replace(temporary, path)


def read_job(job_dir: Path) -> TrainJob:
    """The job of this folder. Raises FileNotFoundError or TypeError on a folder that is not a job."""
    data = json.loads((job_dir / "job.json").read_text())
    tuples = {name: tuple(data.get(name, ())) for name in ("sources", "film_at", "seeds")}
    preferences = tuple(None if one is None else Preferences(**one) for one in data.get("preferences", ()))
    return TrainJob(**{**data, **tuples, "preferences": preferences})


def read_progress(job_dir: Path) -> Progress:
    """The latest progress; a fresh Progress before the first."""
    try:
        data = json.loads((job_dir / "progress.json").read_text())
    except FileNotFoundError:
        return Progress()
    candidates = tuple(CandidateProgress(**{**c, "rollouts": tuple(c["rollouts"])}) for c in data["candidates"])
    return Progress(**{**data, "candidates": candidates})


def read_result(job_dir: Path) -> TrainResult | None:
    """The result, or None while there is none."""
    try:
        data = json.loads((job_dir / "result.json").read_text())
    except FileNotFoundError:
        return None
    return TrainResult(**{**data, "candidates": tuple(CandidateResult(**c) for c in data["candidates"])})


LATER_OPTIONS = {"shared_experience": False, "preferences": (), "by_metric": False, "episodes": 0, "revision": 1}
"""Fields of a job that earlier versions did not have, with the value that stands for what these did."""


def fingerprint_job(job: TrainJob, preset: AnyPreset, device: str) -> str:
    """What a checkpoint must have been made for: the job, its split over processes apart. What earlier versions did
    without a field for it is left out, so that their trainings go on.
    """
    fields_now = asdict(job).items()
    said = {k: v for k, v in fields_now if k != "processes" and (k not in LATER_OPTIONS or v != LATER_OPTIONS[k])}
    for preferences in filter(None, said.get("preferences", ())):
        for name in ("outside", "prior"):
            if not preferences[name]:
                del preferences[name]
    parts = [said, asdict(preset), *([] if device == "cpu" else [device])]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def resolve_preset(job: TrainJob, saved: AnyPreset | None = None) -> AnyPreset:
    """The job's preset, or the one that was saved when its run began, with the job's overrides. Raises ValueError
    naming what is unknown, not positive or missing.
    """
    if job.seeds and len(job.seeds) != len(job.sources):
        raise ValueError(f"the job has {len(job.sources)} reward functions, but seeds for {len(job.seeds)}")
    if job.shared_experience and len(set(job.seeds)) > 1:
        raise ValueError("candidates that share their experience need one seed: several would not be independent")
    preset = apply_overrides(saved or catalog.get_preset(job.task, job.preset), job.overrides)
    if job.shared_experience and not isinstance(preset, SacPreset):
        raise ValueError(f"only SAC learns from others' experience, and the preset {job.preset!r} is of PPO")
    require_sound_preferences(job, preset)
    return preset


def count_states_at_once(job: TrainJob) -> int:
    """The number of states for which training calls a reward at once. Raises ValueError as resolve_preset does."""
    return resolve_preset(job).states * (len(job.sources) if job.shared_experience else 1)


def require_sound_preferences(job: TrainJob, preset: AnyPreset) -> None:
    """Check that the job's candidates can learn from pairs as it says. Raises ValueError, saying what is wrong."""
    if job.preferences and len(job.preferences) != len(job.sources):
        raise ValueError(f"the job has {len(job.sources)} reward functions, but preferences for {len(job.preferences)}")
    if any(job.preferences) and job.shared_experience:
        raise ValueError("candidates that learn from pairs share no experience: each has answers of its own")
    wanted = [preferences for preferences in job.preferences if preferences is not None]
    for preferences in wanted:
        require_sound(preferences, catalog.get_task(job.task), preset)
    if len({preferences.segment for preferences in wanted}) > 1:
        raise ValueError("the segments of all candidates of a job must be equally long")


def apply_overrides(preset: AnyPreset, overrides: dict[str, float | int]) -> AnyPreset:
    """The preset with these fields. Raises ValueError naming what is unknown or not positive."""
    numbers = {f.name: type(getattr(preset, f.name)) for f in fields(preset)}
    numbers = {name: kind for name, kind in numbers.items() if kind in (int, float)}
    for name, value in overrides.items():
        if name not in numbers:
            raise ValueError(describe_unknown("override", name, numbers))
        if numbers[name] is int and (value != int(value) or value < 1):
            raise ValueError(f"override {name}={value}: a whole number of at least 1 is needed")
    return replace(preset, **{name: numbers[name](value) for name, value in overrides.items()})


def drop_candidate(folder: Path, index: int, reason: str) -> None:
    """Have the process of this shard go on without a candidate when it is started again."""
    dropped = read_dropped(folder) | {index: reason}
    write_text(folder / DROPPED, json.dumps(dropped))


def read_dropped(folder: Path) -> dict[int, str]:
    """The candidates that this shard goes on without, and why."""
    try:
        return {int(index): reason for index, reason in json.loads((folder / DROPPED).read_text()).items()}
    except FileNotFoundError:
        return {}


def shard_folder(job_dir: Path, first: int, last: int) -> Path:
    """Where the process that trains candidates first to last - 1 keeps its progress, checkpoint and result."""
    return job_dir / "checkpoints" / f"shard-{first}-{last}"
