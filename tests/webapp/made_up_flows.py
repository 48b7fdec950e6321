"""Flows of a made-up method in three revisions, and experiments of it that an upgrade stopped."""

from __future__ import annotations

from llm.messages import first_prompt, make_chat
from llm.records import Ask, Choose, Judge, Train, Write
from tests.webapp import rows
from tests.webapp.fake_workers import advance, do_work, find_open_requests, finish_request, make_pick, start_experiment
from webapp.experiments import loop, request_results
from webapp.experiments.models import Candidate, Clip, Experiment, Request


def rounds(problem, rng, k, n):
    """Revision 1: rounds of write, train, pick."""
    bests, parent = [], None
    for iteration in range(1, n + 1):
        candidates = yield Write(iteration, first_prompt(problem), k, iteration, parent)
        outcomes = yield Train(iteration, candidates)
        pick = yield Judge(iteration, outcomes)
        parent = pick.best
        bests.append(next(o for o in outcomes if o.candidate.id == pick.best))
    return (yield Choose(tuple(bests)))


def thoughtful_rounds(problem, rng, k, n):
    """Revision 2: thinks before each round, and the second is written in two parts."""
    bests, parent = [], None
    for iteration in range(1, n + 1):
        yield Ask(iteration, make_chat("Think."), iteration, "describer")
        if iteration == 1:
            candidates = yield Write(iteration, first_prompt(problem), k, iteration, parent)
        else:
            both = yield [
                Write(iteration, first_prompt(problem), 1, iteration, parent),
                Write(iteration, first_prompt(problem), k - 1, iteration, parent, first=2),
            ]
            candidates = (*both[0], *both[1])
        outcomes = yield Train(iteration, candidates)
        pick = yield Judge(iteration, outcomes)
        parent = pick.best
        bests.append(next(o for o in outcomes if o.candidate.id == pick.best))
    return (yield Choose(tuple(bests)))


def warm_rounds(problem, rng, k, n):
    """Revision 3: the second round is trained from the first one's best."""
    first = yield Write(1, first_prompt(problem), k, 1)
    outcomes = yield Train(1, first)
    pick = yield Judge(1, outcomes)
    second = yield Write(2, first_prompt(problem), k, 2, pick.best)
    outcomes = yield Train(2, second, pick.best)
    pick = yield Judge(2, outcomes)
    return pick.best


def stopped_by(upgrade, flow, *, kept: int, **values) -> Experiment:
    """An experiment of the first revision with this many answers, after an upgrade to another flow."""
    upgrade("0.1.0", flow=rounds)
    row = start_experiment(**{"method": "made_up", "n": 3, **values})
    for _ in range(kept):
        advance(row)
        for request in find_open_requests(row):
            answer(row, request)
    advance(row)
    upgrade("0.2.0", " Take your time.", flow, 2)
    if waiting := loop.find_waiting_request(row):  # nothing is replayed before the person has answered
        assert row.live
        answer(row, waiting)
    advance(row)
    return row


def stopped_while_choosing(upgrade) -> Experiment:
    """A person was asked for the first pick, something failed, and it was tried again after the upgrade."""
    upgrade("0.1.0", flow=rounds)
    row = start_experiment(method="made_up", n=3, judge="human")
    do_work(row)
    request_results.fail(row, "The disk was full.")
    row.refresh_from_db()
    upgrade("0.2.0", " Take your time.", thoughtful_rounds, 2)
    loop.retry(row)
    advance(row)
    return row


def answer(row: Experiment, request: Request) -> None:
    """As workers and a person would."""
    if request.kind == "Judge":
        loop.answer(request.pk, make_pick(request.payload["candidates"][0], request.payload["candidates"][1]))
    elif request.kind == "Choose":
        loop.answer(request.pk, request.payload["candidates"][-1])
    else:
        finish_request(row, request)
    row.refresh_from_db()


def filmed(row: Experiment) -> None:
    """Everything that was trained can be watched."""
    for candidate in Candidate.objects.filter(iteration__experiment=row, status="trained"):
        clip, _ = Clip.objects.update_or_create(candidate=candidate, percent=100, defaults={"status": "ready"})
        rows.write_clip(clip, 60 * candidate.index)


def to_the_end(row: Experiment) -> list[str]:
    """Answer whatever it asks until it ends; what was asked."""
    asked = []
    while row.live:
        advance(row)
        for request in find_open_requests(row):
            asked.append(f"{request.kind} {request.payload.get('iteration', '')}".strip())
            answer(row, request)
    return asked
