"""Reasons for a choice that a page offers as buttons."""

BEST = ("moves smoothly", "moves fast", "keeps its balance", "goes the right way", "looks natural")
WORST = ("falls over", "hardly moves", "shakes", "goes the wrong way", "looks strange")
ANSWERS_BEST = ("right result", "complete reasoning", "easy to follow")
ANSWERS_WORST = ("wrong result", "error in the reasoning", "gap in the reasoning", "hard to follow")
KNOWN = (
    *(f"best: {tag}" for tag in (*BEST, *ANSWERS_BEST)),
    *(f"worst: {tag}" for tag in (*WORST, *ANSWERS_WORST)),
)
"""The tags that a form may contain."""
