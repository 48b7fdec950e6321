"""Robots, which people watch."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from webapp.problems.medium import Medium

MEDIUM = Medium(
    name="videos",
    one="video",
    filmed=True,
    candidates="rewards",
    under_way="policies train",
    trying="Training",
    tried="trained",
    score="RTS",
    source="code",
    unscored="no metric",
    waiting_phase="training",
    ballot_class="review",
    none_to_choose=_("There is no video to choose from."),
    choose_both=_("Choose the best and the worst video, then confirm."),
    choose_one=_("Choose a video, then confirm."),
    choose_of_two=_("Choose one of the two videos, then confirm."),
    both_are_same=_("Best and worst were the same video. Choose two different ones."),
    cannot_be_shown=_("One of the videos you chose could not be played. Choose among the others."),
    could_not_tell=_("You had already answered this round: you could not tell the videos apart. That answer stands."),
    pair_instructions=_(
        "Watch both videos to the end, as often as you like. Your own impression counts: there is no right answer."
    ),
    single_instructions=_(
        "Watch each video to the end, as often as you like. Rate what you see, not what may be meant."
    ),
    pair_purpose=(
        _("Purpose. We study which movements of simulated robots people prefer."),
        _(
            "What you do. You watch two short videos side by side, a few times, and say which one you prefer. It "
            "takes about two minutes for each pair."
        ),
    ),
    single_purpose=(
        _("Purpose. We study whether simulated robots do what they are told."),
        _(
            "What you do. You watch short videos of robots, one at a time, and say how far each robot does what it "
            "should. It takes about half a minute for each video."
        ),
    ),
    caveat="""\
Published numbers are the papers' own: other physics (IsaacGym), other language models, the papers' training settings
and budgets. They say which order was found there, not which value should be reached here.""",
)
