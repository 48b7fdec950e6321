"""The proxy judge: stands in for a person by ranking candidates by the hidden metric (RTS)."""

from __future__ import annotations

from collections.abc import Sequence

from llm.errors import JudgeError
from llm.records import Choose, Judge, Outcome, Pick, trainable


def judge(request: Judge | Choose) -> Pick | str:
    """Highest RTS is best, lowest is worst (a Pick); for Choose, the id with the highest RTS. Ties go to the first.

    Raises JudgeError where an outcome has no RTS, because its task has no metric, and where nothing could be trained.
    """
    ranked = sorted(scored(trainable(request.outcomes)), key=lambda pair: -pair[0])
    best, worst = ranked[0][1].candidate.id, ranked[-1][1].candidate.id
    if isinstance(request, Choose):
        return best
    return Pick(best, worst if len(ranked) > 1 else None)


def scored(outcomes: Sequence[Outcome]) -> list[tuple[float, Outcome]]:
    if not outcomes:
        raise JudgeError("there is no trained candidate to judge")
    pairs = [(o.rts, o) for o in outcomes if o.rts is not None]
    if len(pairs) < len(outcomes):
        raise JudgeError("this task has no metric that the proxy judge could read: it needs a person as judge")
    return pairs


def human_queries(k: int, n: int, chosen: bool = True) -> int:
    """Pairwise comparisons in n judged rounds of K, as the ICPL paper counts them.

    Best of K, then worst of the rest: 2K - 3 a round; and N - 1 once the winner among the bests is `chosen`. A whole
    experiment thus costs Q = (K-1) * 2N - 1.
    """
    return (2 * k - 3) * n + (n - 1 if chosen and n else 0)
