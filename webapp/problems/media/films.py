"""Robots, which people watch."""

from __future__ import annotations

from webapp.problems.medium import Medium

MEDIUM = Medium(
    name="videos",
    one="video",
    filmed=True,
    candidates="rewards",
    under_way="policies train",
    trying="Training",
    tried="trained",
    unscored="no metric",
    waiting_phase="training",
    ballot_class="review",
    caveat="""\
Published numbers are the papers' own: other physics (IsaacGym), other language models, the papers' training settings
and budgets. They say which order was found there, not which value should be reached here.""",
)
