"""One candidate's training so far, and its result."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from simulation.catalog import AnyPreset, TaskInfo
from trainer.records import CandidateProgress, CandidateResult
from trainer.traces import Series, summarize_metric, summarize_series

EPISODE_LENGTH = "episode_length"
"""Name of the series of episode lengths; no reward component may have it."""
LEARNED_REWARD = "learned_reward"
"""Name of the series of rewards that were learned from pairs; no reward component may have it."""


@dataclass
class Candidate:
    """One candidate's training so far."""

    index: int
    reason: str = ""
    cancelled: bool = False
    series: dict[str, Series] = field(default_factory=dict)
    """Component, "total", EPISODE_LENGTH -> its series."""
    metric: Series = field(default_factory=Series)
    rollouts: list[int] = field(default_factory=list)
    evaluation: dict[str, Any] = field(default_factory=dict)
    samples: int = 0
    nan_worlds: int = 0

    def describe_change(self, sums: dict[str, float]) -> str:
        """What is wrong if the reward's components are not those of the iterations before."""
        before = [name for name in self.series if name not in (EPISODE_LENGTH, LEARNED_REWARD)]
        if not before or list(sums) == before:
            return ""
        return f"its components changed from {before[1:]} to {list(sums)[1:]} between two calls"

    def state_dict(self) -> dict[str, Any]:
        """Plain values only."""
        return asdict(self) | {
            "series": {name: [s.sums, s.counts] for name, s in self.series.items()},
            "metric": [self.metric.sums, self.metric.counts],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Candidate:
        """Inverse of state_dict."""
        series = {name: Series(*saved) for name, saved in state["series"].items()}
        return cls(**{**state, "series": series, "metric": Series(*state["metric"])})

    def describe_progress(self, phase: str, samples: int) -> CandidateProgress:
        """How far it is in its training, which has this many samples."""
        status = "failed" if self.reason else "done" if phase == "done" else "training"
        return CandidateProgress(self.index, status, self.reason, self.samples / samples, tuple(self.rollouts))

    def read_metric(self, info: TaskInfo, preset: AnyPreset) -> Series:
        """The metric's series, of which intervals are taken."""
        return self.metric.average_over(preset.worlds) if info.average_over_worlds else self.metric

    def result(self, info: TaskInfo, preset: AnyPreset) -> CandidateResult:
        """Its result, in a whole run of this preset."""
        trace = {name: summarize_series(series, preset.iterations) for name, series in self.series.items()}
        metric = summarize_metric(self.read_metric(info, preset), preset.iterations)
        return CandidateResult(
            index=self.index,
            ok=not self.reason,
            reason=self.reason,
            trace={name: values for name, values in trace.items() if values},
            metric_trace=metric,
            rts=metric["max"] if metric else None,
            final_score=metric["all"][-1] if metric else None,
            evaluation=self.evaluation,
            samples=self.samples,
            nan_worlds=self.nan_worlds,
        )
