"""What the page of an experiment shows: a fixed number of queries, then plain records for the templates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse

from llm.backend import strip_credentials
from webapp.base import charts
from webapp.bench.experiments import winner_zip
from webapp.bench.experiments.next_steps import NextSteps, find_next_steps
from webapp.bench.experiments.preference_learning import Learning, describe_plan, describe_teacher, read_learning
from webapp.bench.experiments.prompt_versions import PromptSpan, describe_task_revisions, read_prompt_spans
from webapp.bench.experiments.retrainings import RetrainingTable, read_retrainings
from webapp.bench.experiments.reused_trainings import read_reused_trainings
from webapp.bench.experiments.round_cards import Card, Round, read_rounds
from webapp.comparisons import judged_queries
from webapp.experiments import figures, held_up, progress, revisions, upgrades
from webapp.experiments.candidates import describe_ties, group_tied
from webapp.experiments.job_kinds import list_kinds
from webapp.experiments.kinds import KINDS, find_asked_model
from webapp.experiments.models import Experiment, Job, LanguageModel, Request, SegmentPair
from webapp.experiments.pair_sessions import asks_outside, asks_people, asks_vision, warn_of_teacher
from webapp.experiments.resource_use import Usage, sum_usage
from webapp.experiments.trained_presets import describe_changed_settings
from webapp.experiments.working_time import WorkingTime, read_working_time
from webapp.review import pairs, panels
from webapp.studies.assigning import find_participants
from webapp.studies.models import Participant

ACTIVE = (Job.Status.QUEUED, Job.Status.RUNNING)
LONGEST_QUIET = timedelta(seconds=20)
"""Work that no worker took for so long is said to wait for one."""
PEOPLE_LOOKUP = "assignments__participant__study"


@dataclass(frozen=True)
class ExperimentOverview:
    """One experiment as its page shows it."""

    experiment: Experiment
    rounds: tuple[Round, ...]
    jobs: tuple[Job, ...]
    """Queued or running."""
    age: timedelta
    """The age of the oldest of these jobs, by the database's clock."""
    held_up: str
    """What outside of Prefine holds its work up, as workers report it; empty if nothing does."""
    queued_before: int
    """Jobs of other experiments that are ahead of this one's first."""
    time: WorkingTime
    usage: Usage
    queries: int
    """Q: how many pairwise comparisons people were asked for."""
    progress: progress.Progress
    voted: tuple[int, int] | None
    """How many members of a panel have chosen, and how many it has; None where no panel is asked."""
    pairs_answered: tuple[int, int] | None
    """How many answers an open session of pairs has, and how many it needs; None where none is open."""
    prompt_spans: tuple[PromptSpan, ...]
    answers_aside: int
    """Answers of an earlier flow of the method that today's flow does not use."""
    task_revisions: str
    """Which rounds were trained on another revision of the task than today's, in words; empty: none."""
    changed_settings: str
    """Which rounds were trained with other training settings than today's, in words; empty: none."""

    @property
    def can_end(self) -> bool:
        """Whether there is anything to choose a winner from."""
        return bool(revisions.list_bests(self.experiment))

    @property
    def can_follow(self) -> bool:
        return upgrades.has_current_method(self.experiment)

    @property
    def url(self) -> str:
        return reverse("bench:experiment", args=[self.experiment.public_id])

    @property
    def people(self) -> list[Participant]:
        return find_participants(self.experiment)

    @property
    def busy(self) -> bool:
        """Whether numbers change without an event, so that the page asks again by itself."""
        return any(job.status == Job.Status.RUNNING for job in self.jobs)

    @property
    def metric(self) -> str:
        return self.experiment.task_info.metric or ""

    @property
    def winner(self) -> Card | None:
        cards = (card for row in self.rounds for card in row.cards)
        return next((card for card in cards if "winner" in card.badges), None)

    @cached_property
    def next_steps(self) -> NextSteps | None:
        return find_next_steps(self.experiment)

    @cached_property
    def learning(self) -> tuple[Learning, ...]:
        return read_learning(self.experiment, self.url)

    @property
    def pairs_asked(self) -> int:
        """Where people, or a vision model, answer, pairs count from when these could see them."""
        if asks_outside(self.experiment):
            opened = SegmentPair.objects.exclude(session__opened_at=None)
            return opened.filter(session__request__experiment=self.experiment).count()
        return sum(one.asked for one in self.learning)

    @property
    def answerer(self) -> str:
        """Who answers its pairs, in a word or two."""
        if asks_vision(self.experiment):
            return "the vision model"
        return "people" if asks_people(self.experiment) else "the simulated teacher"

    @property
    def pairs_plan(self) -> str:
        return describe_plan(self.experiment)

    @property
    def teacher(self) -> str:
        return describe_teacher(self.experiment)

    @property
    def teacher_warning(self) -> str:
        row = self.experiment
        return "" if asks_people(row) else warn_of_teacher(row.task, row.method, row.options)

    @cached_property
    def retrainings(self) -> RetrainingTable | None:
        return read_retrainings(self.experiment)

    @cached_property
    def has_policy(self) -> bool:
        """Whether the winner's policy can be downloaded."""
        return self.winner is not None and bool(winner_zip.find_policy(self.experiment, self.winner.key))

    @property
    def winner_ties(self) -> str:
        """Which bests of rounds had the winner's score, where the judge goes by scores."""
        if self.winner is None or not self.experiment.judge_info.uses_metric:
            return ""
        bests = [
            card.candidate for row in self.rounds for card in row.cards if "best" in card.badges and not card.aside
        ]
        return describe_ties(group_tied([self.winner.candidate], bests))

    @property
    def current(self) -> Round | None:
        return next((row for row in reversed(self.rounds) if not row.iteration.aside), None)

    @property
    def upcoming(self) -> range:
        """Numbers of the rounds that have not begun."""
        if self.experiment.ends_early:
            return range(0)
        return range(len(self.rounds) + 1, self.experiment.rounds + 1)

    @property
    def chart(self) -> charts.Chart:
        scores = [(row.number, row.scores) for row in self.rounds]
        return figures.make_rounds_chart(self.metric, scores, self.experiment.rounds, self.experiment.medium.score)

    @cached_property
    def _failed_request(self) -> Request | None:
        return self.experiment.requests.filter(status=Request.Status.FAILED).first()

    @property
    def failed_step(self) -> str:
        """Where it stopped, in words."""
        if not self._failed_request:
            return "at the replay of the method"
        number = self._failed_request.payload.get("iteration")
        return f"while {KINDS[self._failed_request.kind].phase}{f' in round {number}' if number else ''}"

    @property
    def failed_models(self) -> list[LanguageModel]:
        """The language models that the failed step asks, and those whose address the error names."""
        row, failed = self.experiment, self._failed_request
        known = (row.model, row.describer, row.judge_model, row.vision)
        models = {model for model in known if model and f"{strip_credentials(model.base_url)} " in row.error}
        if failed and (asked := find_asked_model(failed)):
            models.add(asked)
        return sorted((model for model in models if model.base_url), key=lambda model: model.name)

    @property
    def lost_results(self) -> list[str]:
        """The steps that are marked as answered and hold no result."""
        done = self.experiment.requests.filter(status=Request.Status.DONE)
        return [_name_step(request) for request in done.filter(Q(result=None) | Q(result__isnull=True))]

    @property
    def asks(self) -> bool:
        """Whether a model is being asked, or waits to be."""
        return any(job.info.step == "asking" for job in self.jobs)

    @property
    def nobody_works(self) -> bool:
        """Whether work has waited for long and no worker took any of it."""
        if not self.jobs or self.experiment.paused or self.queued_before or self.busy or self.held_up:
            return False
        return self.age > LONGEST_QUIET


def build_overview(experiment: Experiment) -> ExperimentOverview:
    """Everything about one experiment, in a fixed number of queries however many rounds it has."""
    rows = experiment.jobs.filter(status__in=ACTIVE).select_related("request").annotate(read_at=Now())
    age = max((row.read_at - row.created_at for row in rows), default=timedelta())
    jobs, stopped = tuple(rows), [row.error for row in rows if held_up.is_shown(row, row.read_at)]
    awaited = tuple(job for job in jobs if not job.info.background)
    spans, answers_aside = read_prompt_spans(experiment)
    time = read_working_time(experiment)
    return ExperimentOverview(
        experiment=experiment,
        rounds=read_rounds(experiment, awaited, time, read_reused_trainings(experiment)),
        jobs=jobs,
        age=age,
        held_up=stopped[0] if stopped else "",
        queued_before=_count_queued_before(jobs),
        time=time,
        usage=sum_usage([experiment.pk]),
        queries=judged_queries.count_queries(experiment) if experiment.judge_info.asks_people else 0,
        progress=progress.read_progress(experiment),
        voted=panels.count_voted(experiment),
        pairs_answered=pairs.count_given(experiment),
        prompt_spans=spans,
        answers_aside=answers_aside,
        task_revisions=describe_task_revisions(experiment),
        changed_settings=describe_changed_settings(experiment),
    )


def _name_step(request: Request) -> str:
    number = request.payload.get("iteration")
    return f"{request.kind} of round {number}" if number else request.kind


def _count_queued_before(jobs: tuple[Job, ...]) -> int:
    """Jobs of other experiments that are ahead on the queue of the first job that waits."""
    waiting = [job for job in jobs if job.status == Job.Status.QUEUED]
    if not waiting or any(job.status == Job.Status.RUNNING for job in jobs):
        return 0
    kinds = list_kinds(waiting[0].queue)
    others = Job.objects.filter(status__in=ACTIVE, kind__in=kinds, id__lt=waiting[0].pk)
    return others.exclude(experiment=waiting[0].experiment_id).count()
