"""Rows as the loop makes them, for tests of pages: real small clips, and sentinels that must never be shown."""

from __future__ import annotations

import functools
import hashlib
import subprocess
import tempfile
from pathlib import Path

import imageio_ffmpeg
from django.conf import settings

from llm.records import Candidate as MethodCandidate
from llm.records import Choose, Judge, Outcome, Pairs, Train, fingerprint_request, make_payload
from tests.webapp.servers import cache_folder
from webapp.experiments.models import (
    Candidate,
    Clip,
    Experiment,
    Iteration,
    Job,
    PairSession,
    Request,
    Segment,
    SegmentPair,
)
from webapp.studies import assigning
from webapp.studies.models import Arm, Assignment, Participant, Study

SOURCE = "def compute_reward(sentinel_source_7f3a): return 41.4142"
RTS, FINAL_SCORE = 77.31415, 66.27182
SEED = 987654321


def study(**values: object) -> Study:
    defaults = {
        "title": "Robots that learn to walk",
        "status": Study.Status.OPEN,
        "seed": SEED,
        "contact": "Dr. Ada Example, ada@example.org",
        "consent_text": "Purpose. We want to know how people judge robots.\n\nYou may stop at any time.",
        "ethics_protocol": "2026-17",
        "ethics_expires_on": "2999-12-31",
    }
    plan = {name: values.pop(name) for name in (*assigning.PLAN, "panel") if name in values}
    made = Study.objects.create(**{**defaults, **values})
    arm(made, "A", **plan)
    made.refresh_from_db()
    return made


def arm(of: Study, name: str, **plan: object) -> Arm:
    return Arm.objects.create(study=of, name=name, position=of.arms.count(), **{"task": "Ant", "n": 3, "k": 6, **plan})


def participant(of: Study | None = None, consented: bool = True, label: str = "P07") -> Participant:
    from django.utils import timezone

    of = of or study()
    now = timezone.now() if consented else None
    person = Participant.objects.create(study=of, label=label, consented_at=now, instructed_at=now)
    if consented:
        place = Assignment(participant=person, arm=of.arms.first(), position=1)
        place.experiment = assigning.create_experiment(place)
        place.save()
        Experiment.objects.filter(pk=place.experiment.pk).update(status=Experiment.Status.RUNNING)
    return person


def create_round(person: Participant, number: int = 1, percent: int = 100, failed: tuple[int, ...] = ()) -> Iteration:
    """A round whose candidates have clips at this percentage; the indices in `failed` could not be filmed."""
    iteration, _ = Iteration.objects.get_or_create(experiment=person.experiment, number=number)
    for index in range(1, person.experiment.k + 1):
        candidate, _ = Candidate.objects.get_or_create(
            iteration=iteration,
            index=index,
            defaults={"source": SOURCE, "rts": RTS + index, "final_score": FINAL_SCORE + index, "status": "trained"},
        )
        status = Clip.Status.FAILED if index in failed else Clip.Status.READY
        clip = Clip.objects.create(candidate=candidate, percent=percent, status=status)
        if status == Clip.Status.READY:
            write_clip(clip, 40 * index + 7 * number)
    return iteration


def open_training(person: Participant, number: int = 1) -> Request:
    """An open Train request: the person waits."""
    asked = Train(number, tuple(o.candidate for o in _outcomes(person, number)))
    return _request(person, asked, step=10 * number)


def open_judgement(person: Participant, number: int = 1) -> Request:
    """An open Judge request: the person picks best and worst."""
    Experiment.objects.filter(pk=person.experiment.pk).update(status=Experiment.Status.WAITING)
    return _request(person, Judge(number, _outcomes(person, number)), step=10 * number + 1)


def open_pairs(person: Participant, pairs: int = 3, session: int = 1) -> PairSession:
    """A session of a training whose pairs people answer; each pair has two segments of its own."""
    experiment = person.experiment
    request = Request.objects.filter(experiment=experiment, kind="Train").first() or _request(
        person, Train(1, (MethodCandidate("1-1", ""),), pairs=Pairs("prefppo", 49, "reward", 50, "uniform")), step=1
    )
    Job.objects.get_or_create(experiment=experiment, request=request, kind=Job.Kind.TRAIN, defaults={"status": "done"})
    made = PairSession.objects.create(request=request, number=session, status=PairSession.Status.OPEN)
    for number in range(pairs):
        shown = [
            Segment.objects.create(session=made, number=2 * number + side, status=Clip.Status.READY) for side in (0, 1)
        ]
        for side, segment in enumerate(shown):
            write_clip(segment, 40 * number + 20 * side)
        SegmentPair.objects.create(session=made, number=number, first=shown[0], second=shown[1])
    Experiment.objects.filter(pk=experiment.pk).update(status=Experiment.Status.WAITING)
    return made


def open_final_choice(person: Participant) -> Request:
    """An open Choose request: the person picks among the rounds' first candidates."""
    Experiment.objects.filter(pk=person.experiment.pk).update(status=Experiment.Status.WAITING)
    rounds = Iteration.objects.filter(experiment=person.experiment)
    return _request(person, Choose(tuple(_outcomes(person, r.number)[0] for r in rounds)), step=1000)


def finish_experiment(person: Participant) -> None:
    winner = Candidate.objects.filter(iteration__experiment=person.experiment).first()
    Experiment.objects.filter(pk=person.experiment.pk).update(status=Experiment.Status.FINISHED, winner=winner)


def _outcomes(person: Participant, number: int) -> tuple[Outcome, ...]:
    rows = Candidate.objects.filter(iteration__experiment=person.experiment, iteration__number=number)
    return tuple(Outcome(MethodCandidate(row.key, row.source), True, rts=row.rts) for row in rows)


def _request(person: Participant, asked: Train | Judge | Choose, step: int) -> Request:
    return Request.objects.create(
        experiment=person.experiment,
        step=step,
        kind=type(asked).__name__,
        fingerprint=fingerprint_request(asked),
        payload=make_payload(asked),
    )


def write_clip(clip: Clip | Segment, hue: int, seconds: float = 3) -> None:
    """Write a real clip and poster, which differ by colour, to the media store."""
    for name, data in zip((clip.video, clip.poster), _film(hue, seconds), strict=True):
        path = settings.DATA_DIR / "media" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


FPS = 10
"""Frames a second of the clips: few, for showing them takes most of a browser test's processor time."""


@functools.cache
def _film(hue: int, seconds: float) -> tuple[bytes, bytes]:
    look = f"testsrc2=size=256x192:rate={FPS}:duration={seconds},hue=h={hue}"
    encode = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "10", "-movflags", "+faststart", "-map_metadata", "-1"]
    return _drawn(look, "mp4", [*encode, "-threads", "1"]), _drawn(look, "jpg", ["-frames:v", "1"])


def _drawn(look: str, kind: str, options: list[str]) -> bytes:
    """A picture or film by ffmpeg, cached between runs because many processes need the same few."""
    command = ["-f", "lavfi", "-i", look, *options]
    kept = cache_folder() / f"{hashlib.sha256(repr(command).encode()).hexdigest()[:20]}.{kind}"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            drawn = Path(folder, kept.name)
            subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", *command, str(drawn)], check=True)
            drawn.replace(kept)
    return kept.read_bytes()
