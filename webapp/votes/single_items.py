"""Films that are rated, and answers that are graded, one at a time: what is asked, what is checked, the plan."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from llm.judges.alignment import MOST
from simulation import catalog
from webapp.problems.models import Problem
from webapp.votes import questions
from webapp.votes.film_copies import is_whole
from webapp.votes.models import Pair, Poll
from webapp.votes.pair_names import name_pairs

RATINGS = {
    5: gettext_noop("It does all of it, and does it well"),
    4: gettext_noop("It does it, with small faults"),
    3: gettext_noop("It does a part of it, or only for some of the time"),
    2: gettext_noop("It makes a beginning, and no more"),
    1: gettext_noop("It does not do it, or does something else"),
}
"""The scale on which films are rated, as a vision model has it (llm/prompts/align_rate.txt)."""
MOST_BUTTONS = 10
"""Up to this many points are buttons; more are typed, and halves can be given."""


def get_highest(poll: Poll) -> int:
    """The best mark."""
    return MOST if poll.form == Poll.Form.RATINGS else poll.most_points


def list_marks(poll: Poll) -> list[int]:
    """The marks that are buttons, the lowest first; none where they are typed."""
    lowest, highest = (1 if poll.form == Poll.Form.RATINGS else 0), get_highest(poll)
    return list(range(lowest, highest + 1)) if highest <= MOST_BUTTONS else []


def read_mark(poll: Poll, text: str) -> float | None:
    """The mark that was given; None where it is none of this scale."""
    try:
        mark = float(text.replace(",", "."))
    except ValueError:
        return None
    marks = list_marks(poll)
    fits = mark in marks if marks else 0 <= mark <= get_highest(poll) and (2 * mark).is_integer()
    return mark if fits else None


def asks_reasoning(poll: Poll, pair: Pair) -> bool:
    """Whether the reasoning has points of its own: of a written answer, not of a program."""
    if poll.form != Poll.Form.GRADES:
        return False
    if pair.answers:
        return bool(pair.answers["problem"]["form"] == Problem.Form.ANSWER)
    answer = pair.first_answer
    problem = Problem.objects.filter(name=answer.iteration.experiment.task).first() if answer else None
    return problem is not None and problem.form == Problem.Form.ANSWER


def find_mistake(poll: Poll, pair: Pair, rating: str, reasoning: str) -> str:
    """Why an answer cannot be saved; empty where it can."""
    if read_mark(poll, rating) is None:
        return _("Choose a rating, then confirm.") if poll.form == Poll.Form.RATINGS else _give_points(poll)
    if asks_reasoning(poll, pair) and read_mark(poll, reasoning) is None:
        return _give_points(poll)
    return ""


def _give_points(poll: Poll) -> str:
    return _("Give every part from 0 to %(most)s points, then confirm.") % {"most": get_highest(poll)}


def find_problems(pair: Pair) -> list[str]:
    """Why this film or answer cannot be shown."""
    if pair.poll.form == Poll.Form.GRADES:
        return [] if pair.first_answer else ["the answer was deleted. Take it out."]
    if pair.first is None:
        return ["the film was deleted. Take it out."]
    return [] if is_whole(pair.first) else ["the film is not ready. Wait until it is."]


def find_sentence(pair: Pair) -> str:
    """What the robot of a film is to do, in English; empty where its task is not known any more."""
    task = (
        pair.origin["first"]["task"] if pair.origin else pair.first and pair.first.candidate.iteration.experiment.task
    )
    return catalog.get_task(task).sentence if task in catalog.list_tasks() else ""


def write_plan(poll: Poll, pairs: Sequence[Pair]) -> str:
    """The analysis plan in words, which is fixed at the opening and shown with the results."""
    names, films = name_pairs(pairs), poll.form == Poll.Form.RATINGS
    listed = "\n".join(f"  {pair.position}. {names[pair.pk]}" for pair in pairs)
    lines = [
        f"Question: {poll.question or _describe_question(films)}",
        f"{'Films' if films else 'Answers'}:\n{listed}",
        f"Sample: stops when {poll.evaluators_wanted} people have answered about all of them; only they are counted.",
        "Order: shuffled for each person. Nobody is told where a film or answer comes from.",
        _describe_scale(poll),
        "Agreement: Krippendorff's alpha for an interval scale, with a 95% bootstrap interval over what was rated; "
        "of two people it is close to weighted kappa with squared weights.",
        "Described, not tested.",
    ]
    return "\n".join([*lines, *([f"Hypothesis: {poll.hypothesis.strip()}"] if poll.hypothesis.strip() else [])])


def _describe_question(films: bool) -> str:
    return f"what the task says, then: {questions.OF_RATED}" if films else questions.OF_GRADED


def _describe_scale(poll: Poll) -> str:
    if poll.form == Poll.Form.RATINGS:
        words = "; ".join(f"{number}: {text}" for number, text in RATINGS.items())
        return f"Scale: {words}. The alignment rate is the mean over films of their mean ratings, divided by {MOST}."
    return (
        f"Scale: 0 to {poll.most_points} points for the final answer, and as many for the reasoning if there is one. "
        "An answer is right if all who graded it gave all points; accuracy is the share of right answers."
    )
