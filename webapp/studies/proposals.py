"""What a new study is offered: questions about the instructions, and completion codes for every outcome."""

from __future__ import annotations

import secrets

from webapp.studies.models import CompletionCode, Outcome, Question, Study

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without those that look alike."""
CODE_LENGTH = 8
RETURN_ADDRESSES = {"prolific": "https://app.prolific.com/submissions/complete?cc={code}", "other": ""}
"""By recruitment site: the page that takes a code."""


def propose_questions(study: Study) -> list[Question]:
    """Add questions about what every participant should know; none if the study has questions already."""
    if study.questions.exists():
        return []
    rows = []
    for number, (text, answers, why) in enumerate(_list_questions(study)):
        rows.append(Question(study=study, position=number, text=text, answers="\n".join(answers), explanation=why))
    return Question.objects.bulk_create(rows)


def add_question(study: Study) -> Question:
    """Add a question with a text to be changed."""
    values = {
        "text": "New question",
        "answers": "The correct answer\nAnother answer",
        "position": study.questions.count(),
    }
    return Question.objects.create(study=study, **values)


def _list_questions(study: Study) -> list[tuple[str, tuple[str, ...], str]]:
    filmed = all(arm.medium.filmed for arm in study.arms.all())
    watch, write = ("Watch videos", "robots practise") if filmed else ("Read answers", "next answers are written")
    return [
        (
            "What do you do in each round?",
            (f"{watch} and pick the best and the worst", "Steer a robot with the keyboard", "Write a computer program"),
            f"In each round you {watch.lower()}, and pick the best one and the worst one.",
        ),
        (
            "Which one is the best?",
            ("The one that does the task best in my own opinion", "The one that I saw first", "The longest one"),
            "There is no right answer that we know: your own opinion counts.",
        ),
        (
            f"May you close the page while the {write}?",
            ("Yes, I come back with the same link", "No, I would lose everything"),
            "You may close it at any time. Your link leads back to where you were.",
        ),
    ]


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
