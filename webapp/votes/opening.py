"""A poll's way from draft to open to closed. Each happens once: results that were seen cannot be voted on again."""

from __future__ import annotations

import secrets

from django.db import transaction
from django.utils import timezone

from webapp.audit import record
from webapp.base.store import store
from webapp.experiments.models import Candidate, Clip, Experiment
from webapp.problems.models import Problem
from webapp.studies.opening import is_reachable
from webapp.votes import answers
from webapp.votes.models import Evaluator, Pair, Poll

BLOCK = 4096
FREE_BOX = 8
"""Bytes of the smallest MP4 box."""


def lock(poll_pk: int) -> Poll:
    """The poll, held until the transaction ends: votes, places and closing happen one after another."""
    return Poll.objects.select_for_update().get(pk=poll_pk)


def problems(poll: Poll) -> list[str]:
    """What stands against opening, in words for the experimenter."""
    pairs = list(_pairs(poll))
    found = [] if pairs else ["Add at least one pair."]
    if not is_reachable(poll.contact):
        found.append(
            "The contact has no address: give an e-mail address, a telephone number or a page beside the name."
        )
    for pair in pairs:
        found += [f"Pair {pair.position}: {words}" for words in _problems_of(pair)]
    found += _wording(poll, pairs)
    read = f"{poll.title}\n{poll.question}\n{poll.instructions}\n{poll.consent_text}\n{poll.thanks_text}".casefold()
    for arm in sorted({arm for pair in pairs for arm in (pair.first_arm, pair.second_arm)}):
        if arm and arm.casefold() in read:
            found.append(f"Evaluators would read “{arm}”, the name of an arm, in what you wrote for them.")
    return found


def _wording(poll: Poll, pairs: list[Pair]) -> list[str]:
    """What was written for videos, where there are none."""
    if not pairs or any(pair.medium.filmed for pair in pairs):
        return []
    usual = poll.question == Poll._meta.get_field("question").default
    found = ["The question is about a robot. Ask, for example: Which answer is better?"] if usual else []
    written = {"question": poll.question, "instructions": poll.instructions, "consent text": poll.consent_text}
    wrong = [name for name, text in written.items() if "video" in text.casefold()]
    return found + [f"“Video” stands in the {name}, but answers are compared." for name in wrong]


def _problems_of(pair: Pair) -> list[str]:
    found = _of_clips(pair) if pair.medium.filmed else _of_answers(pair)
    if not (pair.first_arm and pair.second_arm) or pair.first_arm == pair.second_arm:
        found.append("name what each side stands for, with different names.")
    return found


def _of_answers(pair: Pair) -> list[str]:
    if pair.first_answer and pair.second_answer:
        return answers.problems(pair.first_answer, pair.second_answer)
    clip = pair.first or pair.second
    return ["an answer and a clip cannot be compared." if clip else "an answer was deleted. Choose another."]


def _of_clips(pair: Pair) -> list[str]:
    if pair.first is None or pair.second is None:
        return ["what it compares was deleted. Choose again."]
    if pair.first == pair.second:
        return ["both clips are the same."]
    ready = (clip.status == Clip.Status.READY and store.size(clip.video) for clip in (pair.first, pair.second))
    if not all(ready):
        return ["a clip is not ready. Wait until it is filmed, or choose another."]
    tasks = {clip.candidate.iteration.experiment.task for clip in (pair.first, pair.second)}
    return [f"the clips show different tasks ({', '.join(sorted(tasks))})."] if len(tasks) > 1 else []


def open_poll(poll: Poll) -> list[str]:
    """Fix the plan, copy what is compared, let people in. Returns what stands against it; empty when it is open."""
    with transaction.atomic():
        held = _hold(poll)
        poll = lock(poll.pk)
        if poll.status != Poll.Status.DRAFT:
            return ["It was opened before."]
        if not _compared(poll) <= held:
            return ["Its pairs were changed a moment ago. Look at them, then open it."]
        _hold_problems(poll)
        found = problems(poll)
        if found:
            return found
        for pair in _pairs(poll):
            _copy(pair)
        poll.plan, poll.status, poll.opened_at = plan_of(poll), Poll.Status.OPEN, timezone.now()
        poll.save()
    return []


def _compared(poll: Poll) -> set[int]:
    """The experiments whose clips or answers its pairs are made of."""
    paths = ("first__candidate", "second__candidate", "first_answer", "second_answer")
    rows = poll.pairs.values_list(*(f"{path}__iteration__experiment" for path in paths))
    return {pk for row in rows for pk in row if pk}


def _hold(poll: Poll) -> set[int]:
    """Lock them until the transaction ends: nobody's words are erased there while they are copied here."""
    compared = Experiment.objects.select_for_update(no_key=True).filter(pk__in=_compared(poll)).order_by("pk")
    return set(compared.values_list("pk", flat=True))


def _hold_problems(poll: Poll) -> None:
    """Lock the problems until the transaction ends: no import changes their files while the vote comes to show them."""
    tasks = poll.pairs.values("first_answer__iteration__experiment__task")
    list(Problem.objects.select_for_update(no_key=True).filter(name__in=tasks).order_by("pk"))


def close(poll: Poll, by: str = "") -> bool:
    """No more votes: it may be unblinded from now on. `by`: who closed it before N was reached."""
    changes = {"status": Poll.Status.CLOSED, "closed_at": timezone.now(), "closed_by": by}
    closed = bool(Poll.objects.filter(pk=poll.pk, status=Poll.Status.OPEN).update(**changes))
    if closed:
        record(by or "system", "closed vote", poll)
    return closed


def unblind(poll: Poll, by: str) -> None:
    """Note who saw the results first, and when."""
    first = Poll.objects.filter(pk=poll.pk, unblinded_at=None)
    if first.update(unblinded_at=timezone.now(), unblinded_by=by):
        record(by, "unblinded vote", poll)


def complete(poll: Poll) -> int:
    """How many have answered every pair and did not withdraw."""
    return Evaluator.objects.filter(poll=poll, finished_at__isnull=False, withdrawn_at=None).count()


def plan_of(poll: Poll) -> str:
    """The analysis in words: what is fixed at the opening and shown with the results."""
    pairs = list(poll.pairs.all())
    compared = "\n".join(f"  {pair.position}. {pair}" for pair in pairs)
    offered = "“no difference” is offered" if poll.allow_tie else "forced choice"
    asked = "; how much better is asked too and described, not tested" if poll.ask_strength else ""
    correction = f" after {poll.get_correction_display()}'s correction" if len(pairs) > 1 else ""
    if len(pairs) > 1 and poll.correction == Poll.Correction.NONE:
        correction = " without correction for several pairs"
    lines = [
        f"Question: {poll.question}",
        f"Pairs:\n{compared}",
        f"Answers: {offered}{asked}.",
        f"Sample: stops when {poll.evaluators_wanted} evaluators have answered every pair; only they are counted.",
        "Sides: drawn for each evaluator, balanced over evaluators; the order of the pairs is shuffled.",
        f"Test: two-sided exact binomial test against 1/2 for each pair; significant where p{correction} "
        f"is at most {poll.alpha:g}.",
        "No difference: such answers are reported and take no part in the test.",
        f"Intervals of the rate at {100 * (1 - poll.alpha):g}%: Clopper-Pearson, and Bayesian from Beta(1, 1).",
    ]
    if len({arm for pair in pairs for arm in (pair.first_arm, pair.second_arm)}) > 2:
        lines.append("Over all pairs: Bradley-Terry strengths, 95% intervals; “no difference” counts half each way.")
    return "\n".join([*lines, *([f"Hypothesis: {poll.hypothesis.strip()}"] if poll.hypothesis.strip() else [])])


def _pairs(poll: Poll) -> list[Pair]:
    of = "iteration__experiment"
    clips, read = f"candidate__{of}", ("first_answer", "second_answer")
    return list(poll.pairs.select_related(f"first__{clips}", f"second__{clips}", *(f"{side}__{of}" for side in read)))


def copy_name(file: object, ending: str) -> str:
    return f"votes/{file}.{ending}"


def _copy(pair: Pair) -> None:
    """Copies of both clips and posters under new names, the two of a kind equal in size; or of both answers."""
    if pair.first_answer and pair.second_answer:
        pair.answers = answers.copied(pair.first_answer, pair.second_answer)
        pair.origin = {"first": _origin(pair.first_answer), "second": _origin(pair.second_answer)}
        pair.save(update_fields=["answers", "origin"])
        return
    assert pair.first and pair.second
    _equal((pair.first.video, pair.second.video), pair, "mp4")
    _equal((pair.first.poster, pair.second.poster), pair, "jpg")
    pair.origin = {"first": _of_clip(pair.first), "second": _of_clip(pair.second)}
    pair.save(update_fields=["origin"])


def _equal(names: tuple[str, str], pair: Pair, ending: str) -> None:
    contents = []
    for name in names:
        with store.open(name) as file:
            contents.append(file.read())
    size = (max(map(len, contents)) + FREE_BOX) // BLOCK * BLOCK + BLOCK
    for content, copy in zip(contents, (pair.first_file, pair.second_file), strict=True):
        store.publish(copy_name(copy, ending), content + _padding(size - len(content), ending))


def _padding(length: int, ending: str) -> bytes:
    """Bytes that players skip: a `free` box at the end of an MP4; whatever follows the end of a JPEG image."""
    head = length.to_bytes(4, "big") + b"free" if ending == "mp4" else b""
    return head + secrets.token_bytes(length - len(head))


def _of_clip(clip: Clip) -> dict[str, object]:
    return {**_origin(clip.candidate), "clip": str(clip.name)}


def _origin(candidate: Candidate) -> dict[str, object]:
    experiment = candidate.iteration.experiment
    return {
        "experiment": str(experiment.public_id),
        "name": experiment.name,
        "task": experiment.task,
        "method": experiment.method,
        "seed": experiment.seed,
        "candidate": candidate.key,
    }
