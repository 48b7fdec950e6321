"""Opening, closing and unblinding a poll. Each happens once, so that nobody votes after seeing results."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from webapp.audit import record
from webapp.experiments.models import Candidate, Clip, Experiment
from webapp.problems.models import Problem
from webapp.studies.opening import is_reachable
from webapp.votes import pooling, problem_pairs, questions, single_items
from webapp.votes.film_copies import FilmCopies, is_whole, list_sources
from webapp.votes.models import Evaluator, Pair, Poll
from webapp.votes.pair_names import describe_pair, name_pairs


def lock_poll(poll_pk: int) -> Poll:
    """Lock the poll until the transaction ends, so that votes, slots and closing happen one at a time."""
    return Poll.objects.select_for_update().get(pk=poll_pk)


def find_problems(poll: Poll) -> list[str]:
    """Why the poll cannot be opened, in words for the experimenter."""
    pairs = list(_read_pairs(poll))
    asked = [pair for pair in pairs if not pair.is_check]
    nothing = f"Add at least one {'film or answer' if poll.is_single else 'pair to compare'}."
    found = [] if asked else [nothing]
    if not is_reachable(poll.contact):
        found.append(
            "The contact has no address: give an e-mail address, a telephone number or a page beside the name."
        )
    check, called = (single_items.find_problems, "Number") if poll.is_single else (_check_pair, "Pair")
    for pair in pairs:
        found += [f"{called} {pair.position}: {words}" for words in check(pair)]
    counts = Counter(name_pairs(pairs).values())
    found += [f"{count} pairs are called “{name}”: choose another name." for name, count in counts.items() if count > 1]
    found += _check_wording(poll, pairs)
    checks = len(pairs) - len(asked)
    if poll.repeats and poll.repeats >= len(asked):
        found.append(f"Of {len(asked)} pairs at most {max(0, len(asked) - 1)} can be shown twice.")
    if poll.checks_to_pass and poll.checks_to_pass > checks:
        found.append(f"{poll.checks_to_pass} attention checks are to be passed, but there are {checks}.")
    own = (poll.title, poll.question, poll.instructions, poll.consent_text, poll.thanks_text)
    read = "\n".join([*own, *poll.translations.values_list("text", flat=True)]).casefold()
    for arm in sorted({arm for pair in pairs for arm in (pair.first_arm, pair.second_arm)}):
        if arm and arm.casefold() in read:
            found.append(f"Evaluators would read “{arm}”, the name of an arm, in what you wrote for them.")
    return found


def _check_wording(poll: Poll, pairs: list[Pair]) -> list[str]:
    """Words about videos in the texts of a poll that compares answers."""
    if not pairs or any(pair.medium.filmed for pair in pairs):
        return []
    robot = "robot" in poll.question.casefold()
    found = ["The question is about a robot. Ask, for example: Which answer is better?"] if robot else []
    written = {"question": poll.question, "instructions": poll.instructions, "consent text": poll.consent_text}
    wrong = [name for name, text in written.items() if "video" in text.casefold()]
    return found + [f"“Video” stands in the {name}, but answers are compared." for name in wrong]


def _check_pair(pair: Pair) -> list[str]:
    found = _check_clips(pair) if pair.medium.filmed else _check_answers(pair)
    if pair.purpose == Pair.Purpose.SAME and not pair.poll.allow_tie:
        found.append("its right answer is “no difference”, which this vote does not offer.")
    named = pair.first_arm and pair.second_arm and pair.first_arm != pair.second_arm
    if not pair.is_check and not named:
        found.append("name what each side stands for, with different names.")
    return found


def _check_answers(pair: Pair) -> list[str]:
    if pair.first_answer and pair.second_answer:
        if pair.purpose == Pair.Purpose.SAME:
            same = pair.first_answer.source.strip() == pair.second_answer.source.strip()
            return [] if same else ["choose the same answer on both sides."]
        return problem_pairs.find_problems(pair.first_answer, pair.second_answer)
    clip = pair.first or pair.second
    return ["an answer and a clip cannot be compared." if clip else "an answer was deleted. Choose another."]


def _check_clips(pair: Pair) -> list[str]:
    if pair.first is None or pair.second is None:
        return ["what it compares was deleted. Choose again."]
    same = pair.first == pair.second
    if same != (pair.purpose == Pair.Purpose.SAME):
        return ["both clips are the same." if same else "choose the same clip on both sides."]
    if not all(is_whole(clip) for clip in (pair.first, pair.second)):
        return ["a clip is not ready. Wait until it is filmed, or choose another."]
    tasks = {clip.candidate.iteration.experiment.task for clip in (pair.first, pair.second)}
    return [f"the clips show different tasks ({', '.join(sorted(tasks))})."] if len(tasks) > 1 else []


CHANGED = "Its pairs were changed a moment ago, or a film was deleted. Look at them, then open it."


def open_poll(poll: Poll) -> list[str]:
    """Copy the films or answers, fix the plan, let people in. Returns the problems that prevent it, if any.

    Films are copied first, and every check is made again in the transaction that opens the vote: in SQLite nobody
    writes while it lasts.
    """
    poll.refresh_from_db()
    found = ["It was opened before."] if poll.status != Poll.Status.DRAFT else find_problems(poll)
    if found:
        return found
    copies = FilmCopies(poll, _read_pairs(poll))
    try:
        copies.make()
    except FileNotFoundError:  # deleted a moment ago
        found = [CHANGED]
    else:
        found = _open_with(poll.pk, copies)
    if found:  # after another exception it may be open all the same
        copies.delete()
    return found


@transaction.atomic
def _open_with(poll_pk: int, copies: FilmCopies) -> list[str]:
    locked = _lock_experiments(poll_pk)
    poll = lock_poll(poll_pk)
    if poll.status != Poll.Status.DRAFT:
        return ["It was opened before."]
    if not _find_experiments(poll_pk) <= locked:
        return [CHANGED]
    _lock_problems(poll)
    if found := find_problems(poll):
        return found
    pairs = _read_pairs(poll)
    if list_sources(pairs) != copies.sources:
        return [CHANGED]
    for pair in pairs:
        _fix_pair(pair, copies, poll.question)
    for key, name in name_pairs(pairs).items():
        Pair.objects.filter(pk=key).update(name=name)
    poll.plan, poll.status, poll.opened_at = write_plan(poll), Poll.Status.OPEN, timezone.now()
    poll.save()
    return []


def _find_experiments(poll_pk: int) -> set[int]:
    """The experiments of the clips or answers in its pairs."""
    paths = ("first__candidate", "second__candidate", "first_answer", "second_answer")
    rows = Pair.objects.filter(poll=poll_pk).values_list(*(f"{path}__iteration__experiment" for path in paths))
    return {pk for row in rows for pk in row if pk}


def _lock_experiments(poll_pk: int) -> set[int]:
    """Lock the experiments until the transaction ends, so that no erasure changes their texts while they are copied."""
    compared = Experiment.objects.filter(pk__in=_find_experiments(poll_pk)).select_for_update(no_key=True)
    return set(compared.order_by("pk").values_list("pk", flat=True))


def _lock_problems(poll: Poll) -> None:
    """Lock the problems until the transaction ends, so that no import changes their files during the opening."""
    tasks = poll.pairs.values("first_answer__iteration__experiment__task")
    list(Problem.objects.select_for_update(no_key=True).filter(name__in=tasks).order_by("pk"))


def close_poll(poll: Poll, by: str = "") -> bool:
    """End voting, after which the poll may be unblinded. `by`: who closed it before N was reached."""
    changes = {"status": Poll.Status.CLOSED, "closed_at": timezone.now(), "closed_by": by}
    closed = bool(Poll.objects.filter(pk=poll.pk, status=Poll.Status.OPEN).update(**changes))
    if closed:
        record(by or "system", "closed vote", poll)
    return closed


def is_full(poll: Poll) -> bool:
    """Whether N evaluators have answered everything, also while some may still take their last answer back."""
    return count_complete(poll) >= poll.evaluators_wanted


def list_full_polls() -> QuerySet[Poll]:
    """Open polls that N evaluators have answered: they close when nobody can take an answer back any more."""
    complete = Q(evaluators__finished_at__isnull=False, evaluators__withdrawn_at=None)
    counted = Poll.objects.filter(status=Poll.Status.OPEN).annotate(complete=Count("evaluators", filter=complete))
    return counted.filter(complete__gte=F("evaluators_wanted"))


def close_full_polls() -> int:
    """Close every full poll whose last answers can no longer be taken back. Returns how many."""
    return sum(close_if_full(poll) for poll in list_full_polls())


@transaction.atomic
def close_if_full(poll: Poll) -> bool:
    poll = lock_poll(poll.pk)
    undo = timedelta(seconds=settings.UNDO_SECONDS)
    undoable = Evaluator.objects.filter(poll=poll, finished_at__gt=Now() - undo, withdrawn_at=None)
    undoable = undoable.filter(finished_at__lte=Now() + undo)  # later: the database's clock was set back
    return is_full(poll) and not undoable.exists() and close_poll(poll)


def unblind_poll(poll: Poll, by: str) -> None:
    """Record who saw the results first, and when."""
    first = Poll.objects.filter(pk=poll.pk, unblinded_at=None)
    if first.update(unblinded_at=timezone.now(), unblinded_by=by):
        record(by, "unblinded vote", poll)


def count_complete(poll: Poll) -> int:
    """How many evaluators have answered every pair and have not withdrawn."""
    return Evaluator.objects.filter(poll=poll, finished_at__isnull=False, withdrawn_at=None).count()


def write_plan(poll: Poll) -> str:
    """The analysis plan in words, which is fixed at the opening and shown with the results."""
    pairs = _read_pairs(poll)
    if poll.is_single:
        return single_items.write_plan(poll, pairs)
    names = name_pairs(pairs)
    asked = [pair for pair in pairs if not pair.is_check]
    compared, checked = (
        "\n".join(f"  {pair.position}. {describe_pair(pair, names[pair.pk])}" for pair in group)
        for group in (asked, [pair for pair in pairs if pair.is_check])
    )
    offered = "“no difference” is offered" if poll.allow_tie else "forced choice"
    strength = "; how much better is asked too and described, not tested" if poll.ask_strength else ""
    correction = f" after {poll.get_correction_display()}'s correction" if len(asked) > 1 else ""
    if len(asked) > 1 and poll.correction == Poll.Correction.NONE:
        correction = " without correction for several pairs"
    lines = [
        f"Question: {' / '.join(questions.list_questions(poll, pairs))}",
        f"Pairs:\n{compared}",
        f"Answers: {offered}{strength}.",
        f"Sample: stops when {poll.evaluators_wanted} evaluators have answered every pair; only they are counted.",
        "Sides: drawn for each evaluator, balanced over evaluators; the order of the pairs is shuffled.",
        f"Test: two-sided exact binomial test against 1/2 for each pair; significant where p{correction} "
        f"is at most {poll.alpha:g}.",
        "No difference: such answers are reported and take no part in the test.",
        f"Intervals of the rate at {100 * (1 - poll.alpha):g}%: Clopper-Pearson, and Bayesian from Beta(1, 1).",
    ]
    if pooling.group_by_arms(asked):
        lines.append(
            f"Over all pairs of the same two arms: the pooled share at {100 * (1 - poll.alpha):g}%, for other "
            f"evaluators and other such pairs; {pooling.METHOD}. No difference takes no part."
        )
    if checked:
        lines += [
            f"Attention checks, which count in no result:\n{checked}",
            _describe_exclusion(poll, len(pairs) - len(asked)),
        ]
    if poll.repeats:
        lines.append(
            f"Repeats: {poll.repeats} of the pairs, drawn for each evaluator, come a second time at the end, with "
            "their sides exchanged. How often both answers agree is described; second answers count nowhere else."
        )
    if len({arm for pair in asked for arm in (pair.first_arm, pair.second_arm)}) > 2:
        lines.append("Over all pairs: Bradley-Terry strengths, 95% intervals; “no difference” counts half each way.")
    return "\n".join([*lines, *([f"Hypothesis: {poll.hypothesis.strip()}"] if poll.hypothesis.strip() else [])])


def _describe_exclusion(poll: Poll, checks: int) -> str:
    needed = poll.checks_to_pass or checks
    return (
        f"Exclusion: evaluators with fewer than {needed} right of {checks} attention checks are left out of every "
        "result but the one with everybody, which stands beside it. They count towards the sample and are not replaced."
    )


def _read_pairs(poll: Poll) -> list[Pair]:
    path = "iteration__experiment"
    clips, read = f"candidate__{path}", ("first_answer", "second_answer")
    return list(poll.pairs.select_related(f"first__{clips}", f"second__{clips}", *(f"{side}__{path}" for side in read)))


def _fix_pair(pair: Pair, copies: FilmCopies, question: str) -> None:
    """Give a pair its copies, write down what they were, and what is asked unless the vote has a `question`."""
    if pair.first_answer:
        sides = {"first": pair.first_answer, **({"second": pair.second_answer} if pair.second_answer else {})}
        pair.answers = problem_pairs.copy_answers(**sides)
        pair.origin = {name: _describe_origin(row) for name, row in sides.items()}
    else:
        copies.give(pair)
        shown = {"first": pair.first, "second": pair.second}
        pair.origin = {name: _describe_clip(clip) for name, clip in shown.items() if clip}
    if not question:
        pair.question = questions.write_question(pair)
    pair.save(update_fields=["answers", "origin", "first_file", "second_file", "question"])


def _describe_clip(clip: Clip) -> dict[str, object]:
    return {**_describe_origin(clip.candidate), "clip": str(clip.name)}


def _describe_origin(candidate: Candidate) -> dict[str, object]:
    experiment = candidate.iteration.experiment
    return {
        "experiment": str(experiment.public_id),
        "name": experiment.name,
        "task": experiment.task,
        "method": experiment.method,
        "seed": experiment.seed,
        "candidate": candidate.key,
    }
