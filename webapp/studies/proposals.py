"""What a new study is offered: questions about the instructions, and completion codes for every outcome."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from django.utils.translation import gettext, override
from django.utils.translation import gettext_noop as _

from webapp.studies.models import Arm, CompletionCode, Outcome, Question, Study

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Letters and digits without those that look alike."""
CODE_LENGTH = 8
RETURN_ADDRESSES = {"prolific": "https://app.prolific.com/submissions/complete?cc={code}", "other": ""}
"""By recruitment site: the page that takes a code."""
BEST = {
    "text": _("Which one is the best?"),
    "answers": _("The one that does the task best in my own opinion\nThe one that I saw first\nThe longest one"),
    "explanation": _("There is no right answer that we know: your own opinion counts."),
}
CLOSING = {
    "answers": _("Yes, I come back with the same link\nNo, I would lose everything"),
    "explanation": _("You may close it at any time. Your link leads back to where you were."),
}
ABOUT_FILMS = (
    {
        "text": _("What do you do in each round?"),
        "answers": _(
            "Watch videos and pick the best and the worst\nSteer a robot with the keyboard\nWrite a computer program"
        ),
        "explanation": _("In each round you watch videos, and pick the best one and the worst one."),
    },
    BEST,
    {"text": _("May you close the page while the robots practise?"), **CLOSING},
)
ABOUT_PAIRS = (
    {
        "text": _("What do you do in each set?"),
        "answers": _(
            "Watch two videos at a time and say which one does it better\n"
            "Steer a robot with the keyboard\nWrite a computer program"
        ),
        "explanation": _(
            "You watch short videos of a robot that practises, two at a time, and say which one does it better."
        ),
    },
    {**BEST, "text": _("Which one does it better?")},
    ABOUT_FILMS[-1],
)
ABOUT_ANSWERS = (
    {
        "text": _("What do you do in each round?"),
        "answers": _(
            "Read answers and pick the best and the worst\nSteer a robot with the keyboard\nWrite a computer program"
        ),
        "explanation": _("In each round you read answers, and pick the best one and the worst one."),
    },
    BEST,
    {"text": _("May you close the page while the next answers are written?"), **CLOSING},
)
EMPTY = {"text": _("New question"), "answers": _("The correct answer\nAnother answer")}


def propose_questions(study: Study) -> list[Question]:
    """Add questions about what every participant should know; none if the study has questions already."""
    if study.questions.exists():
        return []
    chosen = _choose_words(list(study.arms.all()))
    with override(study.language):
        rows = [
            Question(
                study=study, position=number, asked_of=asked, **{name: gettext(text) for name, text in words.items()}
            )
            for number, (asked, words) in enumerate(chosen)
        ]
    return Question.objects.bulk_create(rows)


def _choose_words(arms: Sequence[Arm]) -> list[tuple[str, dict[str, str]]]:
    """Questions with who is asked them. Where some arms ask about pairs, those that only one kind of arm has are for
    its people.
    """
    rounds = [arm for arm in arms if not arm.asks_pairs]
    of_rounds = ABOUT_FILMS if all(arm.medium.filmed for arm in rounds) else ABOUT_ANSWERS
    if len(rounds) == len(arms):
        return [("", words) for words in of_rounds]
    if not rounds:
        return [("", words) for words in ABOUT_PAIRS]
    own = [("rounds", words) for words in of_rounds if words not in ABOUT_PAIRS]
    own += [("pairs", words) for words in ABOUT_PAIRS if words not in of_rounds]
    return own + [("", words) for words in of_rounds if words in ABOUT_PAIRS]


def add_question(study: Study) -> Question:
    """Add a question with a text to be changed."""
    with override(study.language):
        words = {name: gettext(text) for name, text in EMPTY.items()}
    return Question.objects.create(study=study, position=study.questions.count(), **words)


def list_words() -> list[str]:
    """Every text of all proposed questions, in English."""
    return [text for words in (*ABOUT_FILMS, *ABOUT_PAIRS, *ABOUT_ANSWERS, EMPTY) for text in words.values()]


def propose_codes(study: Study, site: str = "other") -> list[CompletionCode]:
    """Add a random code for every outcome that has none; with the address at which this site takes it."""
    having = set(study.codes.values_list("outcome", flat=True))
    rows = []
    for outcome in Outcome.values:
        if outcome not in having:
            code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))
            rows.append(
                CompletionCode(study=study, outcome=outcome, code=code, url=RETURN_ADDRESSES[site].format(code=code))
            )
    return CompletionCode.objects.bulk_create(rows)
