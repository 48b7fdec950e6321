"""One candidate: its code beside its parent's, traces, films, and the answers of the model that wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse

from llm import extract
from webapp.base import charts
from webapp.bench.experiments.code_diff import Line, Row, align_lines, highlight, summarize_rows
from webapp.bench.experiments.preference_learning import Learning, find_filmed_sessions
from webapp.bench.experiments.reused_trainings import ReusedTraining, read_reused_trainings
from webapp.experiments import figures
from webapp.experiments.kinds import train, write
from webapp.experiments.models import Candidate, Clip, Experiment, ModelCall, Request, Run
from webapp.experiments.trained_presets import Setting, compare_settings, read_values


@dataclass(frozen=True)
class Call:
    """One answer of the model that wrote the round's candidates."""

    row: ModelCall
    is_source: bool
    """Whether the candidate's code is that of this answer."""

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.row.data["request"]["messages"])

    @property
    def text(self) -> str:
        return str(self.row.data["text"])


@dataclass(frozen=True)
class CandidateDetails:
    experiment: Experiment
    candidate: Candidate
    clips: list[Clip]
    code: list[Line]
    rows: list[Row]
    """The code beside the parent's; empty without a parent."""
    calls: list[Call]
    writing: Request | None
    training: Request | None
    run: Run | None
    reused: ReusedTraining | None
    """Where its training was copied from."""
    siblings: list[str]
    """Keys of all candidates of the experiment, in order."""

    @property
    def key(self) -> str:
        return self.candidate.key

    @property
    def url(self) -> str:
        return reverse("bench:candidate", args=[self.experiment.public_id, self.key])

    @property
    def previous(self) -> str:
        index = self.siblings.index(self.key)
        return self.siblings[index - 1] if index else ""

    @property
    def next(self) -> str:
        return next(iter(self.siblings[self.siblings.index(self.key) + 1 :]), "")

    @property
    def badges(self) -> list[str]:
        iteration, pk = self.candidate.iteration, self.candidate.pk
        marked = {"winner": self.experiment.winner_id, "best": iteration.best_id, "worst": iteration.worst_id}
        return [name for name, other in marked.items() if other == pk]

    @property
    def difference(self) -> str:
        return summarize_rows(self.rows)

    @property
    def main_clip(self) -> Clip | None:
        ready = [clip for clip in self.clips if clip.status == Clip.Status.READY]
        return max(ready, key=lambda clip: clip.percent, default=None)

    @property
    def call(self) -> Call | None:
        return next((call for call in self.calls if call.is_source), None)

    @property
    def other_calls(self) -> list[Call]:
        return [call for call in self.calls if call is not self.call]

    @property
    def training_seed(self) -> int | None:
        """None before its training was asked for."""
        if self.training is None:
            return None
        return train.list_seeds(self.training)[_list_trained_keys(self.training).index(self.key)]

    @cached_property
    def settings(self) -> list[Setting]:
        """The values with which its round trains, beside today's; none where they are not known."""
        if self.training is None:
            return []
        return compare_settings(self.experiment, read_values(self.training, self.run))

    @property
    def changed_settings(self) -> bool:
        return any(one.differs for one in self.settings)

    @property
    def rollouts_analysed(self) -> int:
        """How many rollouts a vision model is shown, the clip being the first; 0 where it is shown none or one."""
        rollouts = self.training.payload.get("rollouts", 1) if self.training else 1
        return rollouts if rollouts > 1 else 0

    @property
    def metric_chart(self) -> charts.Chart:
        metric = self.experiment.task_info.metric or ""
        return figures.make_metric_chart(metric, self.candidate.metric_trace, self.complete)

    @property
    def component_charts(self) -> list[charts.Chart]:
        return figures.make_component_charts(self.candidate.trace, self.complete)

    @property
    def learning(self) -> Learning | None:
        """Where it learned its reward from answers about pairs, what is to be said of them."""
        if not self.experiment.asks_pairs:
            return None
        return Learning(self.candidate, self.url, find_filmed_sessions(self.experiment))

    @property
    def complete(self) -> bool:
        return self.candidate.status != Candidate.Status.FAILED


def read_details(experiment: Experiment, key: str) -> CandidateDetails:
    """Raises Http404 for a key that the experiment does not have."""
    number, _, index = key.partition("-")
    rows = Candidate.objects.select_related("iteration", "parent__iteration").filter(iteration__experiment=experiment)
    if not (number.isdecimal() and index.isdecimal()):
        raise Http404(f"A candidate is named like 2-3, not {key!r}.")
    candidate = get_object_or_404(rows, iteration__number=number, index=index)
    same_round = {"payload__iteration": candidate.iteration.number}
    writings = write.find_requests(experiment).filter(**same_round).defer("result")
    writing = next((request for request in writings if candidate.index in _list_written_indices(request)), None)
    trainings = train.find_requests(experiment).filter(**same_round).defer("result")
    training = next((request for request in trainings if candidate.key in _list_trained_keys(request)), None)
    keys = rows.values_list("iteration__number", "index").order_by("iteration__number", "index")
    return CandidateDetails(
        experiment=experiment,
        candidate=candidate,
        clips=list(candidate.clips.order_by("percent")),
        code=highlight(candidate.source),
        rows=align_lines(candidate.parent.source, candidate.source) if candidate.parent else [],
        calls=_read_calls(writing, candidate.source),
        writing=writing,
        training=training,
        run=Run.objects.filter(request=training).first() if training else None,
        reused=_find_reused(experiment, training),
        siblings=[f"{number}-{index}" for number, index in keys],
    )


def _find_reused(experiment: Experiment, training: Request | None) -> ReusedTraining | None:
    if training is None:
        return None
    place = (training.step, training.slot)
    return next((one for one in read_reused_trainings(experiment) if (one.step, one.slot) == place), None)


def _list_written_indices(request: Request) -> range:
    """The indices of the candidates that a Write request asks for."""
    first = request.payload.get("first", 1)
    return range(first, first + request.payload["count"])


def _list_trained_keys(request: Request) -> list[str]:
    return [candidate["id"] for candidate in request.payload["candidates"]]


def _read_calls(writing: Request | None, source: str) -> list[Call]:
    """The answers to the request that wrote the candidate; the first with the same normalised code is its source."""
    if writing is None:
        return []
    calls, own_code, found = [], extract.normalize_program(source), False
    for row in writing.calls.all():
        code = None if found else extract.find_source(str(row.data["text"]))
        is_source = code is not None and extract.normalize_program(code) == own_code
        found = found or is_source
        calls.append(Call(row, is_source))
    return calls
