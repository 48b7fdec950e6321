"""A round as one person sees it: clips, their order and their addresses."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.crypto import salted_hmac

from trainer.records import FINAL
from webapp.base.prepared import Prepared
from webapp.experiments.models import Candidate, Clip, Request
from webapp.problems.media import films, get_medium
from webapp.problems.medium import Medium
from webapp.review import padding
from webapp.review.models import ClipTicket, Screening, Trial
from webapp.studies.models import Participant

LETTERS = "ABCDEFGHIJKLMNOPQRST"
PLACES = "prefine.places-of-early-clips"
"""Keys the order of early clips, which nobody outside can compute."""
OWN_SCREENING = Prepared(
    lambda request, participant: Screening.objects.filter(request=request, participant=participant), values=2
)
SCREENING_BY_TOKEN = Prepared(
    lambda participant, token: Screening.objects.filter(participant=participant, token=token).select_related("request"),
    values=2,
)
TRIAL_BY_TOKEN = Prepared(
    lambda participant, token: Trial.objects.filter(participant=participant, token=token), values=2
)
TICKETS = Prepared(
    lambda participant, shown_in: ClipTicket.objects.filter(participant=participant, shown_in=shown_in).values_list(
        "clip", "token", "size", "poster_size"
    ),
    values=2,
)


@dataclass(frozen=True)
class Tile:
    """One clip on a page. Says nothing about what made it."""

    letter: str
    token: str
    status: str
    """ready, pending or failed."""

    @property
    def video(self) -> str:
        return reverse("clip", args=[self.token])

    @property
    def poster(self) -> str:
        return reverse("poster", args=[self.token])


def find_candidate_ids(request: Request) -> list[int]:
    """Primary keys of the candidates that a Judge or Choose request asks about, in the order in which they were
    made.
    """
    keys = set(request.payload["candidates"])
    rows = Candidate.objects.filter(iteration__experiment=request.experiment_id)
    named = rows.values_list("pk", "iteration__number", "index")
    return [pk for pk, number, index in named if f"{number}-{index}" in keys]  # Candidate.key


def find_screening(request: Request, participant: Participant) -> Screening:
    """This person's screening of the request; the order is drawn once, from a stored seed."""
    screening = OWN_SCREENING.find(request.pk, participant.pk) or _draw_screening(request, participant)
    screening.request, screening.participant = request, participant  # their rows are there: none is read again
    return screening


def _draw_screening(request: Request, participant: Participant) -> Screening:
    seed, order = secrets.randbits(48), find_candidate_ids(request)
    random.Random(seed).shuffle(order)
    drawn = {"seed": seed, "order": order}
    return Screening.objects.get_or_create(request=request, participant=participant, defaults=drawn)[0]


def find_readable(screening: Screening | Trial) -> set[int] | None:
    """Primary keys of the answers that can be read; None if the page shows films."""
    if find_medium(screening).filmed:
        return None
    tried = Candidate.objects.filter(pk__in=screening.order, status=Candidate.Status.TRAINED)
    return set(tried.values_list("pk", flat=True))


def find_medium(screening: Screening | Trial) -> Medium:
    """What the page shows: films or answers."""
    if isinstance(screening, Screening):
        return screening.request.experiment.medium
    tasks = Candidate.objects.filter(pk__in=screening.order).values_list("iteration__experiment__task", flat=True)
    return get_medium(tasks[0]) if tasks else films.MEDIUM


def make_tiles(screening: Screening | Trial) -> list[Tile]:
    readable = find_readable(screening)
    if readable is not None:
        states = [Clip.Status.READY if pk in readable else Clip.Status.FAILED for pk in screening.order]
        return [Tile(letter, "", state) for letter, state in zip(LETTERS, states, strict=False)]
    clips = {clip.candidate_id: clip for clip in Clip.objects.filter(candidate__in=screening.order, percent=FINAL)}
    tokens = issue_tickets(screening.participant, clips.values(), screening.token)
    return [
        Tile(letter, tokens[clips[pk].pk], clips[pk].status) if pk in clips else Tile(letter, "", Clip.Status.FAILED)
        for letter, pk in zip(LETTERS, screening.order, strict=False)
    ]


def make_practice_tiles(participant: Participant, request: Request) -> list[Tile]:
    """The newest early clip of every robot in training. Each robot keeps its place, which tells nothing about it."""
    keys = {candidate["id"] for candidate in request.payload["candidates"]}
    ready = Clip.objects.filter(
        candidate__iteration__experiment=request.experiment_id, percent__lt=FINAL, status=Clip.Status.READY
    ).select_related("candidate__iteration")
    newest = {clip.candidate.key: clip for clip in ready.order_by("percent") if clip.candidate.key in keys}
    tokens = issue_tickets(participant, newest.values())
    places = {key: salted_hmac(PLACES, f"{participant.pk} {request.pk} {key}").digest() for key in newest}
    return [Tile("", tokens[newest[key].pk], Clip.Status.READY) for key in sorted(newest, key=places.__getitem__)]


def issue_tickets(participant: Participant, clips: Iterable[Clip], shown_in: str = "") -> dict[int, str]:
    """Clip primary key -> its ticket's token for this person and page; all clips of a page are sent at equal length."""
    clips = list(clips)
    ready = [clip for clip in clips if clip.status == Clip.Status.READY]
    known = _read_tickets(participant, shown_in)
    if any(clip.pk not in known for clip in clips) or any(not known[clip.pk][1] for clip in ready):
        size, poster_size = padding.compute_sizes(ready)
        sizes = {"size": size, "poster_size": poster_size}
        missing = [clip for clip in clips if clip.pk not in known]
        ClipTicket.objects.bulk_create(
            [
                ClipTicket(participant=participant, clip=clip, shown_in=shown_in, **(sizes if clip in ready else {}))
                for clip in missing
            ],
            ignore_conflicts=True,
        )
        known = _read_tickets(participant, shown_in)
        if any(known[clip.pk][1:] != (size, poster_size) for clip in ready):
            mine = ClipTicket.objects.filter(participant=participant, clip__in=ready, shown_in=shown_in)
            mine.update(**sizes)
    return {clip.pk: known[clip.pk][0] for clip in clips}


def _read_tickets(participant: Participant, shown_in: str) -> dict[int, tuple[str, int, int]]:
    """Token and lengths of the person's tickets on a page, by clip."""
    return {clip: (token, size, poster) for clip, token, size, poster in TICKETS.fetch(participant.pk, shown_in)}


def find_letters(screening: Screening | Trial, candidates: Sequence[int | None]) -> list[str]:
    """The letters under which these candidates (primary keys) were shown."""
    return [LETTERS[screening.order.index(pk)] for pk in candidates if pk in screening.order]
