"""How pages show films of robots."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from webapp.experiments.kind import Judgement
from webapp.experiments.progress import Progress
from webapp.review import tags
from webapp.studio.practice import CLIPS
from webapp.studio.presentation import Presentation
from webapp.studio.words import HELD_UP, Wait, capitalize, describe_wait_left, spell_number

LEAD = gettext_noop("You watch short videos of robots that practise, and say which you like best and which least.")
STAGES = {
    "writing": gettext_noop("Getting ready"),
    "training": gettext_noop("Practising"),
    "filming": gettext_noop("Making the videos"),
}
IN_LINE_ALONE = {
    "writing": gettext_noop("Your robot waits for its turn to get ready"),
    "training": gettext_noop("Your robot waits for a free practice room"),
    "filming": gettext_noop("The videos wait for their turn to be made"),
}
IN_LINE = {
    "writing": gettext_noop("Your robots wait for their turn to get ready"),
    "training": gettext_noop("Your robots wait for a free practice room"),
    "filming": gettext_noop("The videos wait for their turn to be made"),
}


def describe_last_wait(chooses: bool) -> Wait:
    """The wait after the last round, when nothing is trained. `chooses`: a last choice comes, else the end."""
    stages = tuple((_(stage), "done") for stage in STAGES.values())
    if chooses:
        path = (*stages, (_("Your turn"), "now"))
        headline = _("Your favourites are being brought together")
        return Wait(headline, 99, _("a moment left"), _("Your turn"), path, _explain_unknown())
    path = (*stages, (_("Your turn"), "done"))
    return Wait(_("That was the last round"), 99, _("a moment left"), _("Done"), path, _explain_unknown())


def _explain_unknown(robots: int = 2) -> str:
    if robots == 1:
        return _("we can say how long when it has practised a little")
    return _("we can say how long when they have practised a little")


def describe_wait(now: Progress, k: int) -> Wait:
    if now.phase == "asking":
        return _describe_almost_ready(now)
    phase = now.phase if now.phase in STAGES else "writing"
    robots = sum(candidate.status != "failed" for candidate in now.candidates) or k
    headline = {
        "writing": _describe_writing(now.iteration, robots),
        "training": capitalize(
            ngettext("one robot is practising", "%(count)s robots are practising", robots)
            % {"count": spell_number(robots)}
        ),
        "filming": _("The videos are being made"),
    }[phase]
    # Never 100%: once everything is ready, another page takes the place of this one.
    percent = min(99, int(100 * now.fraction))
    if now.in_line:
        before = _("other people's robots are before yours")
        waits = _((IN_LINE_ALONE if robots == 1 else IN_LINE)[phase])
        return Wait(waits, percent, describe_wait_left(now), _(STAGES[phase]), _make_path(phase), before)
    if now.late_reason == "held up":
        headline = _(HELD_UP)
    left = describe_wait_left(now)
    unknown = _("nobody can say yet how long it takes") if phase == "filming" else _explain_unknown(robots)
    return Wait(headline, percent, left, _(STAGES[phase]), _make_path(phase), unknown)


def _describe_writing(iteration: int, robots: int) -> str:
    if robots == 1:
        return _("The robot is getting ready")
    return _("The next robots are getting ready") if iteration > 1 else _("The robots are getting ready")


def _describe_almost_ready(now: Progress) -> Wait:
    """The videos are ready but another step comes first; the page does not say which, to hide the method."""
    left, unknown = describe_wait_left(now), _("nobody can say yet how long it takes")
    return Wait(_("The videos are almost ready"), 99, left, _(STAGES["filming"]), _make_path("filming"), unknown)


def _make_path(phase: str) -> tuple[tuple[str, str], ...]:
    number = list(STAGES).index(phase)
    states = ["done"] * number + ["now"] + [""] * (len(STAGES) - number - 1)
    return (*zip(map(_, STAGES.values()), states, strict=True), (_("Your turn"), ""))


def describe_progress(now: Progress, k: int) -> str:
    """What the robots do while somebody reads the first pages; empty if they do nothing."""
    if k == 1 and now.in_line:
        return _("Other people's robots are practising at the moment. Yours waits for a free practice room.")
    if k == 1 and now.phase == "training":
        return _("Your robot is practising already.")
    if now.in_line:
        return _("Other people's robots are practising at the moment. Yours wait for a free practice room.")
    return {
        "writing": _("The first robots are getting ready meanwhile."),
        "training": _("The first robots are practising already."),
        "filming": _("The first videos are being made already."),
        "asking": _("The first videos are almost ready."),
        "judging": _("The first videos are ready."),
    }.get(now.phase, "")


def make_question(judgement: Judgement, shown: int, ready: int) -> str:
    """The question of a page of videos."""
    if judgement.is_final:
        return _("These won your rounds. Which one is the best of all?")
    if ready == 1:
        return _("Only one robot finished practising this time. Have a look, then confirm.")
    if judgement.is_pair:
        return _("Two once more. Which one does it better?")
    if shown == 2:
        return _("Which of these two does it better? Mark it as the best, and the other as the worst.")
    return _("Which of these %(count)s does it best, and which worst?") % {"count": spell_number(shown)}


PRESENTATION = Presentation(
    lead=LEAD,
    tags_best=tags.BEST,
    tags_worst=tags.WORST,
    describe_progress=describe_progress,
    describe_wait=describe_wait,
    describe_last_wait=describe_last_wait,
    make_question=make_question,
    trial_question=gettext_noop("Which one does it better?"),
    make_task_context=lambda info, address: {},
    make_candidates_context=lambda info, places, tried: {},
    make_winner_context=lambda info, tried: {},
    make_practice_context=lambda places: {},
    describe_practice=lambda name: _(CLIPS[name]),
)
