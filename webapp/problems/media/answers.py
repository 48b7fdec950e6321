"""Answers to a problem, which people read."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from webapp.problems.medium import Medium

MEDIUM = Medium(
    name="answers",
    one="answer",
    filmed=False,
    candidates="answers",
    under_way="answers are being tested",
    trying="Being tested",
    tried="tested",
    score="score",
    source="answer",
    unscored="neither a final answer nor test cases",
    waiting_phase="writing",
    ballot_class="answers",
    none_to_choose=_("There is no answer to choose from."),
    choose_both=_("Choose the best and the worst answer, then confirm."),
    choose_one=_("Choose an answer, then confirm."),
    choose_of_two=_("Choose one of the two answers, then confirm."),
    both_are_same=_("Best and worst were the same answer. Choose two different ones."),
    cannot_be_shown=_("One of the answers you chose could not be checked. Choose among the others."),
    could_not_tell=_("You had already answered this round: you could not tell the answers apart. That answer stands."),
    pair_instructions=_("What counts most is whether an answer is right, then how good its reasoning is."),
    single_instructions=_(
        "Read the answer and the reference solution beside it. Give points to the final answer and to the reasoning "
        "apart: a right answer may have wrong reasons, and other ways than that of the reference may be right."
    ),
    pair_purpose=(
        _("Purpose. We study which answers of a language model to a problem people prefer."),
        _(
            "What you do. You read two answers to one problem side by side, and say which one you prefer. It "
            "takes about ten minutes for each pair."
        ),
    ),
    single_purpose=(
        _("Purpose. We study how good the answers of a language model to problems are."),
        _(
            "What you do. You read answers to problems, one at a time, and give points to each. It takes about ten "
            "minutes for each answer."
        ),
    ),
    explained="""\
On a problem a candidate is an answer or a program. Its RTS is 1 where the final answer is the reference answer, else 0;
of a program the share of points. Answers that had to be asked for again cost calls and tokens beyond the budget of
candidates. An experiment whose final answer nobody compared with the reference has no TS.""",
    accuracy=True,
)
