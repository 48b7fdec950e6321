"""The rounds of an experiment as its page shows them: candidates as cards, requests as steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from webapp.base import charts
from webapp.bench.experiments.reused_trainings import ReusedTraining
from webapp.experiments import progress
from webapp.experiments.candidates import describe_ties, group_tied
from webapp.experiments.job_kinds import IMPORTANCE
from webapp.experiments.kinds import KINDS
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration, Job, Request
from webapp.experiments.pair_sessions import find_open_session
from webapp.experiments.working_time import WorkingTime
from webapp.review import panels


@dataclass(frozen=True)
class Card:
    """One candidate in its round's row."""

    candidate: Candidate
    clips: dict[int, Clip]
    fraction: float | None
    """How far its training is, while it trains."""
    share: float | None
    """The score of its final policy divided by the experiment's highest, for the bar."""
    badges: tuple[str, ...]
    """Among best, worst, winner."""
    parent_key: str
    tied: bool
    """Whether the judge, who goes by scores, picked it among equals."""

    @property
    def key(self) -> str:
        return self.candidate.key

    @property
    def aside(self) -> bool:
        """Whether it belongs to an earlier flow of the method and today's flow does not use it."""
        return self.candidate.status == Candidate.Status.ASIDE

    @property
    def clip(self) -> Clip | None:
        """The latest clip that can be played."""
        ready = [clip for clip in self.clips.values() if clip.status == Clip.Status.READY]
        return max(ready, key=lambda clip: clip.percent, default=None)

    @property
    def failed_clips(self) -> list[Clip]:
        return [clip for clip in self.clips.values() if clip.status == Clip.Status.FAILED]


@dataclass(frozen=True)
class Step:
    """One request of a round, and how long it took."""

    kind: str
    status: str
    seconds: float | None
    """None before it is answered or has failed."""

    @property
    def words(self) -> str:
        """What the seconds are for."""
        failed = self.status == Request.Status.FAILED
        return f"{KINDS[self.kind].phase} failed after" if failed else f"{KINDS[self.kind].verb} in"


@dataclass(frozen=True)
class Round:
    iteration: Iteration
    cards: tuple[Card, ...]
    steps: tuple[Step, ...]
    jobs: tuple[Job, ...]
    ties: str
    """Which candidates had the same score as the best or the worst, where the judge goes by scores."""
    pooled: tuple[panels.PanelResult, ...]
    reused: tuple[ReusedTraining, ...]
    answering: bool = False
    """Whether its training has stopped for people to answer pairs."""

    @property
    def number(self) -> int:
        return self.iteration.number

    @cached_property
    def scores(self) -> tuple[float, ...]:
        scores = (charts.drop_infinite(card.candidate.rts) for card in self.cards if not card.aside)
        return tuple(score for score in scores if score is not None)

    @property
    def top(self) -> float | None:
        return max(self.scores, default=None)

    @property
    def mean(self) -> float | None:
        return sum(self.scores) / len(self.scores) if self.scores else None

    @property
    def job(self) -> Job | None:
        """The job that people wait for: training rather than the films that follow it."""
        return min(self.jobs, key=lambda job: IMPORTANCE[job.kind], default=None)

    @property
    def activity(self) -> str:
        """What that job does, in a word: films of a round are also made once it is done."""
        if self.job is None or self.job.request is None or self.job.status != Job.Status.RUNNING:
            return self.phase
        if self.job.info.activity:
            return self.job.info.activity
        kind = KINDS[self.job.request.kind]
        return "judging" if kind.judgement else kind.phase

    @property
    def fraction(self) -> float | None:
        """How far that job is; for films, the share of the round's clips."""
        if self.job is None or self.job.status != Job.Status.RUNNING:
            return None
        filmed, ordered = self.clips_filmed
        if self.job.info.films_clips and ordered:
            return filmed / ordered
        fraction = self.job.progress.get("fraction")
        return None if fraction is None else float(fraction)

    @property
    def clips_filmed(self) -> tuple[int, int]:
        """How many of the clips that are being filmed are ready, and how many were ordered."""
        percent = self.job.percent if self.job else 0
        clips = [card.clips[percent] for card in self.cards if percent in card.clips]
        return sum(clip.status == Clip.Status.READY for clip in clips), len(clips)

    @property
    def shown(self) -> Card | None:
        """The card that stands for the round in the timeline: the pick, or the first with a clip."""
        picked = (card for card in self.cards if "best" in card.badges)
        return next(picked, None) or next((card for card in self.cards if card.clip), None)

    @property
    def phase(self) -> str:
        """What the round waits for: writing, training, answering (people, pairs), picking (a person), judging (a
        model); or done, or failed.
        """
        if any(step.status == Request.Status.FAILED for step in self.steps):
            return "failed"
        if self.iteration.aside:
            return "set aside"
        if self.iteration.finished_at:
            return "done"
        if self.answering:
            return "answering"
        waiting = next((KINDS[step.kind] for step in self.steps if step.status == Request.Status.OPEN), None)
        if waiting is None:
            return "trained"
        return "judging" if waiting.judgement and self.jobs else waiting.phase  # with a job, a model judges


def read_rounds(
    experiment: Experiment, jobs: tuple[Job, ...], time: WorkingTime, reused: Sequence[ReusedTraining]
) -> tuple[Round, ...]:
    unused = ("source", "trace", "metric_trace") if experiment.medium.filmed else ("trace",)
    candidates = list(
        Candidate.objects.filter(iteration__experiment=experiment).select_related("iteration").defer(*unused)
    )
    clips: dict[int, dict[int, Clip]] = defaultdict(dict)
    for clip in Clip.objects.filter(candidate__iteration__experiment=experiment):
        clips[clip.candidate_id][clip.percent] = clip
    steps, pooled, iteration_of = _read_steps(experiment, time)
    keys = {candidate.pk: candidate.key for candidate in candidates}
    highest = max((abs(score) for candidate in candidates if (score := _get_score(candidate)) is not None), default=0)
    rows = []
    session = find_open_session(experiment)
    asked_about = session.request.payload["iteration"] if session else None
    for iteration in experiment.iterations.all():
        own = tuple(job for job in jobs if iteration_of.get(job.request_id) == iteration.number)
        fractions = _read_fractions(own)
        members = [candidate for candidate in candidates if candidate.iteration_id == iteration.pk]
        tied = _group_tied(experiment, iteration, members)
        cards = tuple(
            Card(
                candidate=candidate,
                clips=clips[candidate.pk],
                fraction=fractions.get(candidate.key),
                share=_scale_score(_get_score(candidate), highest),
                badges=_list_badges(candidate, iteration, experiment),
                parent_key=keys.get(candidate.parent_id or 0, ""),
                tied=any(candidate.key in group for group in tied),
            )
            for candidate in members
        )
        taken, statistics = tuple(steps[iteration.number]), tuple(pooled[iteration.number])
        copied = tuple(training for training in reused if training.iteration == iteration.number)
        answering = iteration.number == asked_about
        rows.append(Round(iteration, cards, taken, own, describe_ties(tied), statistics, copied, answering))
    return tuple(rows)


def _read_steps(
    experiment: Experiment, time: WorkingTime
) -> tuple[dict[int, list[Step]], dict[int, list[panels.PanelResult]], dict[int | None, int]]:
    """The requests of each round, how panels decided in it, and each request's round. The final choice counts to the
    last round."""
    steps: dict[int, list[Step]] = defaultdict(list)
    pooled: dict[int, list[panels.PanelResult]] = defaultdict(list)
    iteration_of: dict[int | None, int] = {}
    fields = ("pk", "kind", "status", "created_at", "finished_at", "payload__iteration", "pooled")
    rows = experiment.requests.exclude(status=Request.Status.ASIDE)
    for pk, kind, status, begun, ended, iteration, result in rows.values_list(*fields):
        if iteration is not None:
            steps[iteration].append(Step(kind, status, time.measure(begun, ended) if ended else None))
            iteration_of[pk] = iteration
        if result:
            pooled[iteration or max(steps, default=0)].append(panels.read_pooled(kind, result))
    return steps, pooled, iteration_of


def _read_fractions(jobs: Iterable[Job]) -> dict[str, float]:
    """How far each candidate's training is, by its id."""
    entries = [progress.read_candidate_progress(job) for job in jobs]
    return {key: float(str(entry["fraction"])) for job_entries in entries for key, entry in job_entries.items()}


def _get_score(candidate: Candidate) -> float | None:
    """The score of the final policy, which the film shows; the best of the training where no other is saved."""
    final = charts.drop_infinite(candidate.final_score)
    return charts.drop_infinite(candidate.rts) if final is None else final


def _scale_score(score: float | None, highest: float) -> float | None:
    return None if score is None or not highest else max(0.0, score / highest)


def _group_tied(experiment: Experiment, iteration: Iteration, members: Iterable[Candidate]) -> list[list[str]]:
    """The candidates of a round that had the same score as its best or its worst, if the judge goes by scores."""
    if not experiment.judge_info.uses_metric:
        return []
    shown = [candidate for candidate in members if candidate.status == Candidate.Status.TRAINED]
    return group_tied((row for row in shown if row.pk in (iteration.best_id, iteration.worst_id)), shown)


def _list_badges(candidate: Candidate, iteration: Iteration, experiment: Experiment) -> tuple[str, ...]:
    marked = {"winner": experiment.winner_id, "best": iteration.best_id, "worst": iteration.worst_id}
    return tuple(name for name, pk in marked.items() if pk == candidate.pk)
