"""The proxy judge: stands in for a person by ranking candidates by the hidden metric (RTS).

With options it is a noisy teacher as in B-Pref (Lee et al. 2021, section 3.2): see llm/judges/teacher.py.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from llm.errors import JudgeError, explain_missing_score
from llm.judges import teacher
from llm.method import Value
from llm.records import Choose, Compare, Judged, Outcome, Pick, list_shown
from teachers import noisy

OPTIONS = teacher.OPTIONS


def judge(
    request: Judged, options: Mapping[str, Value] | None = None, seed: int = 0, unit: float | None = None
) -> Pick | str:
    """Highest RTS is best, lowest is worst (a Pick); for Choose, the id with the highest RTS; for Compare, which of the
    two is higher, or `equal`. Of ties the first is best, the last is worst. `options` make it err; what it does then
    follows from `seed`, and from `unit`, the mean |RTS| of the experiment so far, negative where the mean is
    (judges/teacher.py).

    Raises JudgeError where an outcome has no RTS, and where nothing could be trained.
    """
    seen = list_shown(request)
    noise = noisy.Teacher(**(options or {}))  # type: ignore[arg-type]
    values = teacher.compute_utilities(check_scored(seen), noise, unit)
    rng = random.Random(seed)
    if isinstance(request, Compare):
        first, second = teacher.compute_utilities(check_scored(seen), replace(noise, gamma=1.0), unit)
        return noisy.compare(values[0], values[1], noise, rng, (first, second), unit or 1.0)
    best = noisy.choose_best(values, noise, rng)
    rest = [i for i in range(len(seen)) if i != best]
    worst = rest[-1 - noisy.choose_best([-values[i] for i in reversed(rest)], noise, rng)] if rest else None
    if worst is not None and noise.errs(rng):
        best, worst = worst, best
    named = seen[best].candidate.id
    if isinstance(request, Choose):
        return named
    return Pick(named, None if worst is None or not request.worst else seen[worst].candidate.id)


def check_scored(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """The outcomes, all of which have a score. Raises JudgeError."""
    if not outcomes:
        raise JudgeError("there is no trained candidate to judge")
    for outcome in outcomes:
        if outcome.rts is None:
            raise JudgeError(explain_missing_score(outcome.candidate.id, "it needs a person as judge"))
    return outcomes
