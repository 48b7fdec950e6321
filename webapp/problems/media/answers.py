"""Answers to a problem, which people read."""

from __future__ import annotations

from webapp.problems.medium import Medium

MEDIUM = Medium(
    name="answers",
    one="answer",
    filmed=False,
    candidates="answers",
    under_way="answers are being tested",
    trying="Being tested",
    tried="tested",
    unscored="neither a final answer nor test cases",
    waiting_phase="writing",
    ballot_class="answers",
    explained="""\
On a problem a candidate is an answer or a program. Its RTS is 1 where the final answer is the reference answer, else 0;
of a program the share of points. Answers that had to be asked for again cost calls and tokens beyond the budget of
candidates. An experiment whose final answer nobody compared with the reference has no TS.""",
    accuracy=True,
)
