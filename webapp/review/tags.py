"""Reasons for a choice that a page offers as buttons."""

from django.utils.translation import gettext_noop

BEST = (
    gettext_noop("moves smoothly"),
    gettext_noop("moves fast"),
    gettext_noop("keeps its balance"),
    gettext_noop("goes the right way"),
    gettext_noop("looks natural"),
)
WORST = (
    gettext_noop("falls over"),
    gettext_noop("hardly moves"),
    gettext_noop("shakes"),
    gettext_noop("goes the wrong way"),
    gettext_noop("looks strange"),
)
ANSWERS_BEST = (gettext_noop("right result"), gettext_noop("complete reasoning"), gettext_noop("easy to follow"))
ANSWERS_WORST = (
    gettext_noop("wrong result"),
    gettext_noop("error in the reasoning"),
    gettext_noop("gap in the reasoning"),
    gettext_noop("hard to follow"),
)
KNOWN = (
    *(f"best: {tag}" for tag in (*BEST, *ANSWERS_BEST)),
    *(f"worst: {tag}" for tag in (*WORST, *ANSWERS_WORST)),
)
"""The tags that a form may contain."""
