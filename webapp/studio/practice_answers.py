"""The practice trial for answers: a small problem, and answers to it that everybody ranks alike.

Each answer takes the place of one practice clip (webapp.studio.practice).
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from webapp.problems.models import SECTIONS, Problem

TITLE = gettext_noop("A shirt on sale")
STATEMENT = gettext_noop(
    "A shirt costs $40$ euros. Its price is lowered by $10\\%$, and a week later by $10\\%$ of the new one. "
    "What does it cost then?"
)


def make_problem() -> Problem:
    """The problem in the language of the page. It is not saved."""
    return Problem(name="practice", title=_(TITLE), statement=_(STATEMENT))


@dataclass(frozen=True)
class PracticeAnswer:
    """An answer to the practice problem."""

    final: str
    reasoning: str
    words: str
    """What it does, as a sentence."""

    @property
    def text(self) -> str:
        final = SECTIONS["mathematics"][0]  # what marks the final answer; pages do not show it
        return f"## {final}\n\n{_(self.final)}\n\n## {_('Reasoning')}\n\n{_(self.reasoning)}"


SAMPLES = {
    "still": PracticeAnswer(
        gettext_noop("$32.40$ euros"),
        gettext_noop("A tenth less leaves $0.9$ of a price.\n\n$$40 \\cdot 0.9 = 36, \\qquad 36 \\cdot 0.9 = 32.40$$"),
        gettext_noop("It is right and shows every step."),
    ),
    "sways": PracticeAnswer(
        "$32.40$ euros", gettext_noop("I worked it out."), gettext_noop("It is right, but does not show why.")
    ),
    "swings": PracticeAnswer(
        gettext_noop("$32$ euros"),
        gettext_noop("A tenth of $40$ is $4$. Twice that is $8$.\n\n$$40 - 2 \\cdot 4 = 32$$"),
        gettext_noop("It shows its steps, but takes both tenths from the old price."),
    ),
    "falls": PracticeAnswer(
        gettext_noop("$36.90$ euros"),
        gettext_noop("It looks like that."),
        gettext_noop("It is wrong, and gives no reason."),
    ),
}
"""By the name of the practice clip that each replaces."""
