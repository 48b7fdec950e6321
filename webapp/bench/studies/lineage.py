"""The lineage of an experiment: how each pick differs from its parent, in code and in behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from webapp.base.paper_table import Table
from webapp.bench.experiments.code_diff import Row, align_lines, summarize_rows
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration


@dataclass(frozen=True)
class Change:
    """A number before and after: a component's mean over the last tenth of training, or a score."""

    name: str
    before: float | None
    after: float | None

    @property
    def difference(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True)
class Pick:
    """The pick of a round, beside the candidate that it was written from."""

    iteration: Iteration
    best: Candidate
    worst: Candidate | None
    parent: Candidate | None
    """The candidate that the best was written from; None in the first round, and where the method keeps none."""
    clip: Clip | None
    winner: bool

    @cached_property
    def rows(self) -> list[Row]:
        """The code of the parent beside that of the pick."""
        return align_lines(self.parent.source, self.best.source) if self.parent else []

    @property
    def code_change(self) -> str:
        return summarize_rows(self.rows) if self.parent else "written from the task alone"

    @cached_property
    def behaviour(self) -> list[Change]:
        """The hidden metric, where there is one, then what the traces of pick and parent have."""
        before, after = _read_last_samples(self.parent), _read_last_samples(self.best)
        names = [*after, *(name for name in before if name not in after)]
        names.sort(key=lambda name: (name != "total", name != "episode_length", name))
        changes = [Change(name.replace("_", " "), before.get(name), after.get(name)) for name in names]
        scores = []
        if self.iteration.experiment.medium.filmed and self.best.final_score is not None:
            before_final = self.parent.final_score if self.parent else None
            scores.append(Change("final score", before_final, self.best.final_score))
        if self.best.rts is not None:
            scores.append(Change("RTS", self.parent.rts if self.parent else None, self.best.rts))
        return [*scores, *changes]


def _read_last_samples(candidate: Candidate | None) -> dict[str, float]:
    """Trace entry -> its last sample."""
    trace: Mapping[str, Mapping[str, list[float]]] = candidate.trace if candidate else {}
    return {name: float(entry["samples"][-1]) for name, entry in trace.items() if entry.get("samples")}


def read_lineage(experiment: Experiment) -> list[Pick]:
    """Every round that was judged, in order."""
    rounds = experiment.iterations.exclude(best=None).select_related(
        "best__iteration", "best__parent__iteration", "worst__iteration"
    )
    best_ids = [iteration.best_id for iteration in rounds]
    clips = {c.candidate_id: c for c in Clip.objects.filter(candidate__in=best_ids, percent=100, status="ready")}
    picks = []
    for iteration in rounds:
        best = iteration.best
        assert best is not None
        won = best.pk == experiment.winner_id
        picks.append(Pick(iteration, best, iteration.worst, best.parent, clips.get(best.pk), won))
    return picks


def build_table(experiment: Experiment, picks: list[Pick]) -> Table:
    """The lineage for a paper: one row a round."""
    rows = tuple(
        (
            pick.iteration.number,
            pick.best.key,
            pick.worst.key if pick.worst else None,
            pick.parent.key if pick.parent else None,
            pick.code_change,
            pick.best.rts,
            pick.iteration.reason or None,
            ", ".join(pick.iteration.tags) or None,
            pick.iteration.difference or None,
        )
        for pick in picks
    )
    columns = ("round", "best", "worst", "written from", "code", "RTS", "reason", "tags", "difference in words")
    note = f"{experiment.task}, {experiment.get_method_display()}, seed {experiment.seed}"
    return Table("lineage", f"Lineage of {experiment.name}", columns, rows, note)
