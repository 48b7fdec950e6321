"""The practice trial for answers: a small problem, and answers to it that everybody ranks alike.

Each answer takes the place of one practice clip (webapp.studio.practice).
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_noop

from webapp.problems.models import SECTIONS, Problem

PROBLEM = Problem(
    name="practice",
    title="A shirt on sale",
    statement="A shirt costs $40$ euros. Its price is lowered by $10\\%$, and a week later by $10\\%$ of the new one. "
    "What does it cost then?",
)


@dataclass(frozen=True)
class PracticeAnswer:
    """An answer to the practice problem."""

    final: str
    reasoning: str
    words: str
    """What it does, as a sentence."""

    @property
    def text(self) -> str:
        final, reasoning = SECTIONS["mathematics"]
        return f"## {final}\n\n{self.final}\n\n## {reasoning}\n\n{self.reasoning}"


SAMPLES = {
    "still": PracticeAnswer(
        "$32.40$ euros",
        "A tenth less leaves $0.9$ of a price.\n\n$$40 \\cdot 0.9 = 36, \\qquad 36 \\cdot 0.9 = 32.40$$",
        gettext_noop("It is right and shows every step."),
    ),
    "sways": PracticeAnswer("$32.40$ euros", "I worked it out.", gettext_noop("It is right, but does not show why.")),
    "swings": PracticeAnswer(
        "$32$ euros",
        "A tenth of $40$ is $4$. Twice that is $8$.\n\n$$40 - 2 \\cdot 4 = 32$$",
        gettext_noop("It shows its steps, but takes both tenths from the old price."),
    ),
    "falls": PracticeAnswer("$36.90$ euros", "It looks like that.", gettext_noop("It is wrong, and gives no reason.")),
}
"""By the name of the practice clip that each replaces."""
