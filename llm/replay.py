"""Run a method from its saved requests: to find out what it waits for, and to re-run an old experiment exactly.

    python -m llm.replay RECORD.json

re-runs a recorded experiment with no model and no simulation and prints its rounds and its winner.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from llm import diversity, prompts
from llm.errors import MethodError, ReplayMismatch
from llm.methods import get_method as find_method
from llm.records import (
    TRIED,
    Outcome,
    Pick,
    Problem,
    Request,
    Run,
    Train,
    describe_meaning,
    fingerprint_request,
    hash_payload,
    list_trainable,
    make_payload,
    result_from_json,
)

FORMAT = 2
READS = (1, 2)
"""Before format 2 a record holds neither meanings nor versions."""
PROMPTS_MARK = ", prompts "
"""Stands in a version before the name of the set of prompts of one's own that it asked with."""


@dataclass(frozen=True)
class Saved:
    """One answered request, as its row holds it."""

    step: int
    """The number of the method's yield, counted from 0."""
    position: int
    """The request's place in the list of that step; 0 for a single request."""
    kind: str
    fingerprint: str
    """A hash of the request with its words; empty where words are not compared."""
    result: Any
    """The result in the form of result_to_json."""
    meaning: Mapping[str, Any] | None = None
    """As records.describe_meaning gives it; None where it is not at hand, or an earlier version's record lacks it."""
    version: str = ""
    """The version of Prefine that asked; empty where it was not written down."""


@dataclass(frozen=True)
class Open:
    """The method waits. `requests` are all of the step, in order; `missing` are the positions still unanswered."""

    step: int
    requests: tuple[Request, ...]
    missing: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    """The method's options that differ from their defaults: part of every fingerprint."""
    differs: tuple[int, ...] = ()
    """Answered steps that were asked in other words than today's."""

    def fingerprint(self, position: int) -> str:
        """The fingerprint under which the result of the request at this position is to be saved."""
        return fingerprint_request(self.requests[position], self.options)


@dataclass(frozen=True)
class Finished:
    """The method has returned the winner's id."""

    candidate: str
    differs: tuple[int, ...] = ()
    """See Open.differs."""


def advance(
    method: str,
    problem: Problem,
    seed: int,
    k: int,
    n: int,
    saved: Sequence[Saved],
    options: Mapping[str, Any] | None = None,
    *,
    strict: bool = True,
    find: Callable[[int, int, Request], Saved | None] | None = None,
    read_meaning: Callable[[Saved], Mapping[str, Any]] | None = None,
) -> Open | Finished:
    """Run the method from its start, feed it what is saved, stop at the first step with an unanswered request.

    A saved answer must be to the request that the method makes at its step: where `strict`, to the letter; else with
    the same meaning, and the steps whose words differ are in the result. `find` is given step, position and request of
    each that has no answer, and may know one from elsewhere. `read_meaning` gives the meaning of an answer that does
    not hold it, and is asked only where the words differ: equal words mean the same. Raises ReplayMismatch where a
    saved answer is to something else, ValueError for an unknown method or option, MethodError when it asks for more
    candidates to be tried than its budget, and what the method itself raises.
    """
    found = find_method(method)
    chosen = found.settings(options or {})
    steps = found.function(problem, random.Random(seed), k, n, **found.select_own(chosen))
    waiting: dict[int, dict[int, Saved]] = {}
    for row in saved:
        waiting.setdefault(row.step, {})[row.position] = row
    step, left = 0, found.candidates_of(k, n, chosen)
    differs: list[int] = []
    try:
        yielded = next(steps)
        while True:
            requests = tuple(yielded) if isinstance(yielded, list) else (yielded,)
            answers = _find_answers(step, requests, waiting.pop(step, {}), find)
            if not _check_words(step, requests, answers, chosen, strict, read_meaning):
                differs.append(step)
            missing = tuple(p for p in range(len(requests)) if p not in answers)
            tried = sum(len(request.candidates) for request in requests if isinstance(request, (Train, Run)))
            if tried > left:
                raise MethodError(f"step {step} asks for {tried} candidates to be tried: its budget leaves {left}")
            left -= tried
            if missing:
                _require_nothing_left(waiting, step)
                steps.close()
                return Open(step, requests, missing, chosen, tuple(differs))
            if lost := [answers[p].kind for p in sorted(answers) if answers[p].result is None]:
                raise MethodError(f"step {step}: the result of {', '.join(lost)} is marked as there, and is missing")
            results = [result_from_json(answers[p].kind, answers[p].result) for p in sorted(answers)]
            yielded = steps.send(results if isinstance(yielded, list) else results[0])
            step += 1
    except StopIteration as stop:
        _require_nothing_left(waiting, step)
        return Finished(stop.value, tuple(differs))


def _find_answers(
    step: int,
    requests: Sequence[Request],
    saved: dict[int, Saved],
    find: Callable[[int, int, Request], Saved | None] | None,
) -> dict[int, Saved]:
    """The answers of a step by position: the saved ones, and for the others what `find` returns."""
    wanted = [position for position in range(len(requests)) if position not in saved] if find else []
    found = {position: find(step, position, requests[position]) for position in wanted if find}
    return saved | {position: row for position, row in found.items() if row}


def _check_words(
    step: int,
    requests: Sequence[Request],
    answers: Mapping[int, Saved],
    options: Mapping[str, Any],
    strict: bool,
    read_meaning: Callable[[Saved], Mapping[str, Any]] | None,
) -> bool:
    """Whether what is saved of a step was asked in today's words. Raises ReplayMismatch where it answers something
    else, or, where `strict`, was asked in other words.
    """
    same = True
    for position, row in answers.items():
        if position >= len(requests):
            raise ReplayMismatch(
                f"step {step} has {len(requests)} requests, but a result is saved for number {position}"
            )
        request = requests[position]
        kind = type(request).__name__
        if row.kind != kind:
            raise ReplayMismatch(f"step {step}: the method asks for {kind}, but the saved request is {row.kind}")
        data = make_payload(request)
        in_same_words = bool(row.fingerprint) and row.fingerprint == hash_payload(kind, data, options)
        saved = row.meaning
        if saved is None and read_meaning and not in_same_words:
            saved = read_meaning(row)
        if saved is not None and (asked := describe_meaning(kind, data)) != saved:
            other = describe_differences(asked, saved)
            raise ReplayMismatch(f"step {step} ({kind}): the method now asks something else than was saved: {other}")
        if row.fingerprint and not in_same_words:
            same = False
            if strict:
                raise ReplayMismatch(f"step {step} ({kind}): the method now asks in other words than was saved")
    return same


def describe_differences(asked: Mapping[str, Any], saved: Mapping[str, Any]) -> str:
    """The parts in which two meanings differ."""
    names = [name for name in sorted({*asked, *saved}) if asked.get(name) != saved.get(name)]
    return "; ".join(
        f"{name} {_format_value(asked.get(name))}, saved {_format_value(saved.get(name))}" for name in names
    )


def _format_value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _require_nothing_left(waiting: Mapping[int, Any], step: int) -> None:
    if waiting:
        raise ReplayMismatch(f"the method stops at step {step}, but results are saved for step {max(waiting)}")


# --- records --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """A whole experiment in one JSON file."""

    problem: Problem
    method: str
    seed: int
    k: int
    n: int
    requests: tuple[Saved, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    winner: str | None = None
    """The id of the winning candidate; None while the experiment is unfinished."""
    revision: int = 1
    """The revision of the method whose flow the requests follow."""
    ended_early: bool = False
    """Whether the flow was broken off; the last request then chose among the bests of the finished rounds."""
    set_aside: tuple[Saved, ...] = ()
    """Answers of an earlier flow that did not fit into the one that the experiment went on with."""
    training_start: str = "random"
    """What each round's policies started from; unless random, scores are not comparable with the papers'."""
    shared_experience: bool = False
    """Whether each policy learned from what all of its round did; if so, scores are not comparable either."""
    prompts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The sets of prompts of one's own that it asked with, by the name of the set; empty: Prefine's alone."""
    presets: tuple[Mapping[str, Any], ...] = ()
    """For each training its request's step and slot, and under "preset" the values of the settings it trained with."""
    format: int = FORMAT


def write_record(path: Path, record: Record) -> None:
    """Write the record as JSON, all or nothing of it. Raises OSError."""
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(asdict(record), indent=1, ensure_ascii=False))
    unfinished.replace(path)


def read_record(path: Path) -> Record:
    """Raises ValueError when the file is not a record of this format, OSError when it cannot be read."""
    try:
        data = json.loads(path.read_text())
        if data.get("format") not in READS:
            raise ValueError(f"format {data.get('format')!r}, but this version reads {' and '.join(map(str, READS))}")
        data["requests"] = tuple(Saved(**r) for r in data["requests"])
        data["set_aside"] = tuple(Saved(**r) for r in data.get("set_aside", ()))
        return Record(**{**data, "problem": Problem(**data["problem"])})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is not an experiment record: {error}") from error


def replay(record: Record, *, strict: bool = True) -> Open | Finished:
    """Re-run the record. Raises ReplayMismatch when it does not end as recorded."""
    if record.ended_early:
        raise ReplayMismatch(
            "it was ended before its method was through: its winner was chosen among the rounds that were there"
        )
    ends = [_replay_set(record, name, strict) for name in _list_sets(record)]
    for end in ends:
        reached = end.candidate if isinstance(end, Finished) else None
        if reached != record.winner:
            raise ReplayMismatch(
                f"the replay ends with {reached or 'an open request'}, the record with {record.winner}"
            )
    return replace(ends[-1], differs=tuple(sorted({step for end in ends for step in end.differs})))


def _list_sets(record: Record) -> list[str]:
    """The sets of prompts that its requests were asked with, in order; "" stands for Prefine's own prompts."""
    rows = sorted(record.requests, key=lambda row: (row.step, row.position))
    return list(dict.fromkeys(_name_set(record, row) for row in rows)) or [""]


def _name_set(record: Record, row: Saved) -> str:
    """The set that a request was asked with, by its version; where none was written down, a record's only one."""
    if not row.version and len(record.prompts) == 1:
        return next(iter(record.prompts))
    return row.version.partition(PROMPTS_MARK)[2]


def _replay_set(record: Record, name: str, strict: bool) -> Open | Finished:
    """Run the method with one set of prompts, as every request of that set was asked. The words of others, which later
    runs asked with sets of their own, are not compared.
    """
    rows = [row if _name_set(record, row) == name else replace(row, fingerprint="") for row in record.requests]
    with prompts.use_own(record.prompts.get(name, {})):
        return advance(
            record.method, record.problem, record.seed, record.k, record.n, rows, record.options, strict=strict
        )


def group_versions(versions: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """From which step on which version of Prefine asked, from the version of each request by its step, in order. An
    empty version was not written down.
    """
    spans: list[tuple[int, str]] = []
    for step, version in versions:
        if not spans or spans[-1][1] != version:
            spans.append((step, version))
    return spans


def format_rounds(record: Record) -> str:
    """One line a round: candidates, trainable ones, best and worst, RTS of the best and the round's mean, diversity.

    Diversity is that of the programs and, behind a slash, that of the films (llm/diversity.py). Where nobody judges,
    the best is the one with the highest RTS. A judge may find the best of an earlier round still better.
    """
    lines = [f"{'round':>5} {'trained':>8} {'best':>6} {'worst':>6} {'best RTS':>9} {'mean RTS':>9} {'diversity':>13}"]
    rounds: list[tuple[Sequence[Outcome], Pick | None]] = []
    for row in sorted(record.requests, key=lambda r: (r.step, r.position)):
        if row.kind in TRIED:
            rounds.append((result_from_json(row.kind, row.result), None))
        elif row.kind == "Judge":
            rounds[-1] = (rounds[-1][0], result_from_json(row.kind, row.result))
    scores: dict[str, float] = {}
    for outcomes, pick in rounds:
        scores |= _list_scores(outcomes)
        lines.append(_format_round(outcomes, pick, scores))
    return "\n".join(lines)


def _format_round(outcomes: Sequence[Outcome], pick: Pick | None, known: Mapping[str, float]) -> str:
    """`known`: the RTS of all candidates so far."""
    number, scores = outcomes[0].candidate.id.partition("-")[0], _list_scores(outcomes)
    best = pick.best if pick else max(scores, key=scores.__getitem__, default="-")
    worst = pick.worst or "-" if pick else "-"
    best_rts = f"{known[best]:.3f}" if best in known else "-"
    mean = f"{sum(scores.values()) / len(scores):.3f}" if scores else "-"
    trained = f"{len(list_trainable(outcomes))}/{len(outcomes)}"
    return f"{number:>5} {trained:>8} {best:>6} {worst:>6} {best_rts:>9} {mean:>9} {_format_diversity(outcomes):>13}"


def _list_scores(outcomes: Sequence[Outcome]) -> dict[str, float]:
    return {o.candidate.id: o.rts for o in list_trainable(outcomes) if o.rts is not None}


def _format_diversity(outcomes: Sequence[Outcome]) -> str:
    found = (diversity.measure_code_distance(outcomes), diversity.measure_behaviour_distance(outcomes))
    return " / ".join("-" if value is None else f"{value:.2f}" for value in found)


_ADVICE = (
    "Method, options, prompts, task text, seed or settings have changed since: restore them, start a new experiment, "
    "or replay with --lenient, which lists what is asked in other words and goes on."
)


def main(arguments: Sequence[str]) -> int:
    """`./prefine replay`: run the record, print its rounds; 0, or 1 where it cannot be read or ends differently."""
    parser = argparse.ArgumentParser(
        prog="./prefine replay", description="Run a recorded experiment again: no model, no training."
    )
    parser.add_argument("record", type=Path, help="a file that `run` wrote")
    parser.add_argument("--lenient", action="store_true", help="go on where requests mean the same in other words")
    given = parser.parse_args(arguments)
    path: Path = given.record
    try:
        record = read_record(path)
        end = replay(record, strict=not given.lenient)
        lines = _report(record, end)
    except OSError as error:
        return _report_failure(f"cannot read {path}: {error.strerror}. Records are in records/ of the data folder.")
    except ReplayMismatch as error:
        return _report_failure(str(error) if given.lenient else f"{error}. {_ADVICE}")
    except (ValueError, MethodError) as error:
        return _report_failure(str(error))
    except (TypeError, AttributeError, KeyError) as error:  # the right fields, but not what belongs into them
        return _report_failure(f"{path} is damaged: {type(error).__name__}: {error}")
    print("\n".join(lines))
    return 0


def _report_failure(reason: str) -> int:
    print(f"replay failed: {reason}", file=sys.stderr)
    return 1


def _report(record: Record, end: Open | Finished) -> list[str]:
    """The lines that describe a record and how running it again ended."""
    lines = [f"{record.method} on {record.problem.task}, K={record.k}, N={record.n}, seed {record.seed}"]
    rows = sorted(record.requests, key=lambda row: (row.step, row.position))
    if len(spans := group_versions((row.step, row.version) for row in rows)) > 1:
        lines += [f"from step {step} on asked by {version or 'an earlier version'}" for step, version in spans]
    kinds = {row.step: row.kind for row in record.requests}
    lines += [f"step {step} ({kinds[step]}): the method now asks in other words than was saved" for step in end.differs]
    if record.set_aside:
        lines.append(f"{len(record.set_aside)} answers of an earlier revision of the method are set aside")
    lines.append(format_rounds(record))
    if isinstance(end, Finished):
        return [*lines, f"winner: {end.candidate}"]
    waiting = ", ".join(type(end.requests[p]).__name__ for p in end.missing)
    return [*lines, f"unfinished: waits at step {end.step} for {waiting}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
