"""The interface of a medium: candidates that people watch, or that they read. Each is a file in webapp/problems/media/.

Differences between written answers and programs are in webapp/problems/forms/.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise

StrOrPromise = str | Promise


@dataclass(frozen=True)
class Medium:
    """How people get to know a candidate, with the words of the pages."""

    name: str
    """Names the folder of its templates in studio/ and the mode of the pages' scripts."""
    one: str
    """One candidate, in participants' words."""
    filmed: bool
    """Candidates are rewards: policies train under them by a preset, leave traces, and are filmed."""
    candidates: str
    """What the model writes, in experimenters' words."""
    under_way: str
    """What happens to a round's candidates; their number is put in front."""
    trying: str
    """What happens to one candidate."""
    tried: str
    """What is said of a candidate after its end."""
    score: str
    """What the score of a candidate is called, in experimenters' words."""
    source: str
    """What a candidate's text is called."""
    unscored: str
    """What a task without scores lacks."""
    waiting_phase: str
    """The phase of a round in which people wait longest."""
    ballot_class: str
    """The style class of the form on which people choose."""
    none_to_choose: StrOrPromise
    """This and the next six: what people read whose choice was not taken."""
    choose_both: StrOrPromise
    choose_one: StrOrPromise
    choose_of_two: StrOrPromise
    both_are_same: StrOrPromise
    cannot_be_shown: StrOrPromise
    could_not_tell: StrOrPromise
    pair_instructions: StrOrPromise
    """This and the next three: Prefine's own words for evaluators who see two at a time, or one."""
    single_instructions: StrOrPromise
    pair_purpose: tuple[StrOrPromise, ...]
    single_purpose: tuple[StrOrPromise, ...]
    explained: str = ""
    """What a comparison's report says about scores of this medium."""
    caveat: str = ""
    """The end of a comparison's report."""
    accuracy: bool = False
    """Whether a score of 1 means right, so that arms are also compared by their share of right answers."""
