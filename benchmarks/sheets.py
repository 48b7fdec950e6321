"""A real experiment as a participant sees it: when its clips come, and what its candidates reach.

    python -m benchmarks.sheets --folder F [--task Humanoid] [--rounds 3] [--start best_short] [--save FILE]
    python -m benchmarks.sheets --read docs/comparisons/sheets.csv

A real supervisor, and a study as the site proposes it: ICPL, K=6, quick, trainings that start from the last round's
best. The one participant's browser is a program, which picks by the hidden metric, so that nobody's taste decides what
is seen. Printed: what the page says and shows while it waits, when each round's clips came, and each candidate's
figures. The folder gets the site's data and, for each round, a sheet: a row per candidate in the table's order, six
stills spread over the whole of its clip. --save writes a line for each candidate to a file, with the times of its
round, in place of what it holds of the same task and start.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import imageio_ffmpeg

from benchmarks.kept import add_options, read_records, write_records
from benchmarks.machine import machine
from benchmarks.round import Browser, prefine
from trainer.candidate import EPISODE_LENGTH

POLL_SECONDS = 1.0
STILLS, STILL_WIDTH = 6, 200
WAITING = re.compile(r'id="progress".*?<h1>(.*?)</h1>.*?class="progress-words"[^>]*>(.*?)</p>', re.DOTALL)


@dataclass
class Wait:
    """A round's wait, in seconds since the choice before it or, in the first round, since the consent."""

    begun: float
    first_seen: dict[int, float] = field(default_factory=dict)
    """When the page first showed a clip of this percentage of the training."""
    all_seen: dict[int, float] = field(default_factory=dict)
    """When it showed those of all candidates."""
    ready: float = 0.0
    said: str = ""

    def look(self, page: str, percents: list[int], count: int) -> None:
        """Note what the page shows now, and print what changed."""
        now = time.monotonic() - self.begun
        for percent in set(percents):
            self.first_seen.setdefault(percent, now)
            if percents.count(percent) == count:
                self.all_seen.setdefault(percent, now)
        found = WAITING.search(page)
        words = [" ".join(re.sub("<[^>]*>", " ", part).split()) for part in found.groups()] if found else []
        shown = [f"{percents.count(percent)} clips at {percent}%" for percent in sorted(set(percents))]
        said = "; ".join([*words, *shown])
        if said != self.said:
            print(f"{now:6.0f} s  {said}", file=sys.stderr, flush=True)
        self.said = said


@dataclass(frozen=True)
class Row:
    """A candidate, and when its round's clips came, in seconds as in Wait."""

    task: str
    start: str
    round: int
    first: float | None
    at_10: float | None
    at_30: float | None
    ready: float
    training: float
    """The training of the round alone."""
    candidate: str
    best: float | None = None
    """The highest metric of an interval; None where the training failed."""
    last: float | None = None
    """The metric of the last interval."""
    steps: float | None = None
    """Of an episode, in the last tenth."""
    falls: int | None = None
    """In the candidate's clip."""
    picked: str = ""
    """Best, worst, or why the training failed."""


def begin(browser: Browser, task: str, rounds: int, start: str) -> Any:
    """A new study with one participant who has consented and read the instruction."""
    from webapp.studies import enrolment
    from webapp.studies.models import Arm, Study

    texts = {"title": "A real experiment", "consent_text": "Please look at robots.", "contact": "nobody"}
    study = Study.objects.create(**texts, demonstration=True, status=Study.Status.OPEN)
    Arm.objects.create(study=study, task=task, k=6, n=rounds, training_start=start)
    person = enrolment.create_participant(study)
    link = person.get_absolute_url()
    _, page = browser.send(browser.get(link)[1], f"{link}consent/", agree="yes")
    browser.send(page, f"{link}ready/")
    return person


def watch(browser: Browser, person: Any) -> list[Wait]:
    """Wait and choose until the experiment is over. The waits of its rounds, without that for the last choice."""
    from webapp.experiments.models import Experiment
    from webapp.review.models import ClipTicket

    link, waits = person.get_absolute_url(), [Wait(time.monotonic())]
    while (experiment := Experiment.objects.get(assignments__participant=person)).live:
        page, wait = browser.get(link)[1], waits[-1]
        if 'id="ballot"' in page:
            clips = set(re.findall(r'"(/clip/[\w-]+/)"', page))
            assert clips and all("ftyp" in browser.get(clip)[1][:64] for clip in clips), "a clip is no video"
            wait.ready = time.monotonic() - wait.begun
            vote(browser, person, page)
            waits.append(Wait(time.monotonic()))
        else:
            tokens = re.findall(r'<li id="early-([\w-]+)"', page)
            shown = ClipTicket.objects.filter(participant=person, token__in=tokens)
            wait.look(page, list(shown.values_list("clip__percent", flat=True)), experiment.k)
        time.sleep(POLL_SECONDS)
    assert experiment.status == Experiment.Status.FINISHED, experiment.error
    return waits[: experiment.n]


def vote(browser: Browser, person: Any, page: str) -> None:
    """Name the candidate with the highest score best and the one with the lowest worst."""
    from webapp.experiments.models import Candidate
    from webapp.review.models import Screening
    from webapp.review.screenings import find_letters

    screening = Screening.objects.filter(participant=person).latest("opened_at")
    found = Candidate.objects.filter(pk__in=screening.order).values_list("pk", "rts")
    scores = {pk: float("-inf") if rts is None else rts for pk, rts in found}
    ranked = sorted(screening.order, key=lambda pk: scores[pk])
    worst, best = find_letters(screening, [ranked[0], ranked[-1]])
    address = re.search(r'id="ballot"[^>]*action="([^"]+)"', page)
    assert address is not None
    browser.send(page, address[1], best=best, **({"worst": worst} if 'name="worst"' in page else {}))


def write_sheet(clips: list[Path], seconds: float, path: Path) -> None:
    """A row per clip: stills spread over the whole of it."""
    look = f"trim=start={seconds / STILLS / 2},setpts=PTS-STARTPTS,fps={STILLS / seconds},scale={STILL_WIDTH}:-2"
    rows = [f"[{number}]{look},tile={STILLS}x1[row{number}]" for number in range(len(clips))]
    stack = "".join(f"[row{number}]" for number in range(len(clips))) + f"vstack=inputs={len(clips)}"
    inputs = [part for clip in clips for part in ("-i", str(clip))]
    arguments = ["-filter_complex", ";".join([*rows, stack]), "-frames:v", "1", "-q:v", "4", "-y", str(path)]
    subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", *inputs, *arguments], check=True)


def list_rows(experiment: Any, waits: list[Wait], seconds: float) -> Iterator[Row]:
    """All candidates, round by round."""
    from simulation.rollout import read_rollout
    from webapp.base.store import store
    from webapp.experiments import run_folder
    from webapp.experiments.kinds.train import find_training

    rounds = experiment.iterations.filter(aside=False).order_by("number")
    trainings = experiment.requests.filter(kind="Train", run__isnull=False).order_by("step")
    for iteration, wait, training in zip(rounds, waits, trainings, strict=True):
        times = {
            "first": min(wait.first_seen.values(), default=None),
            "at_10": wait.all_seen.get(10),
            "at_30": wait.all_seen.get(30),
            "ready": wait.ready,
            "training": training.run.seconds,
        }
        head: dict[str, Any] = {name: None if each is None else round(each, 1) for name, each in times.items()}
        head |= {"task": experiment.task, "start": experiment.training_start, "round": iteration.number}
        for candidate in iteration.candidates.order_by("index"):
            if candidate.status != "trained":
                yield Row(**head, candidate=candidate.key, picked=f"failed: {candidate.reason}")
                continue
            place = find_training(iteration.experiment, candidate.key)
            assert place is not None
            with store.as_file(run_folder.get_rollout_key(*place)) as file:
                rollout = read_rollout(file)
            filmed = slice(1, round(seconds / rollout.control_dt))
            yield Row(
                **head,
                candidate=candidate.key,
                best=round(candidate.rts, 4),
                last=round(candidate.final_score, 4),
                steps=round(candidate.trace[EPISODE_LENGTH]["samples"][-1], 2),
                falls=int((rollout.restart if rollout.fell is None else rollout.fell)[filmed].sum()),
                picked={iteration.best_id: "best", iteration.worst_id: "worst"}.get(candidate.pk, ""),
            )


def render(rows: Sequence[Row]) -> str:
    """The tables of each experiment."""
    experiments = dict.fromkeys((row.task, row.start) for row in rows)
    return "\n\n".join(render_experiment([row for row in rows if (row.task, row.start) == one]) for one in experiments)


def render_experiment(rows: Sequence[Row]) -> str:
    """A table of rounds, and one of candidates."""
    lines = [
        f"### {rows[0].task}, start {rows[0].start}",
        "",
        "| round | first early clip | all at 10% | all at 30% | all videos play | training alone | best intervals |",
        "|---:|---:|---:|---:|---:|---:|---|",
    ]
    for number in dict.fromkeys(row.round for row in rows):
        own = [row for row in rows if row.round == number]
        times = [own[0].first, own[0].at_10, own[0].at_30, own[0].ready, own[0].training]
        bests = [row.best for row in own if row.best is not None] or [float("nan")]
        cells = " | ".join("-" if each is None else f"{each:.0f} s" for each in times)
        lines.append(f"| {number} | {cells} | {min(bests):.2f} to {max(bests):.2f} |")
    lines += [
        "",
        "| candidate | metric, best interval | last interval | steps of an episode | falls in the clip | picked |",
    ]
    lines.append("|---|---:|---:|---:|---:|---|")
    for row in rows:
        figures = zip((row.best, row.last, row.steps, row.falls), (".2f", ".2f", ".0f", ""), strict=True)
        cells = " | ".join("-" if value is None else format(value, form) for value, form in figures)
        lines.append(f"| {row.candidate} | {cells} | {row.picked} |")
    return "\n".join(lines)


def write_sheets(experiment: Any, seconds: float, folder: Path) -> None:
    """A sheet of each round, round-1.jpg and so on."""
    from webapp.base.store import store
    from webapp.experiments.models import Clip

    for iteration in experiment.iterations.filter(aside=False):
        ready = Clip.objects.filter(candidate__iteration=iteration, percent=100, status=Clip.Status.READY)
        with ExitStack() as files:
            clips = [files.enter_context(store.as_file(clip.video)) for clip in ready.order_by("candidate__index")]
            write_sheet(clips, seconds, folder / f"round-{iteration.number}.jpg")


def main() -> None:
    """Run the experiment, print the tables, write the sheets."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sheets", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, help="a new one, for the site's data and the sheets")
    parser.add_argument("--task", default="Humanoid")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--start", default="best_short", help="what a round's trainings start from (%(default)s)")
    add_options(parser)
    options = parser.parse_args()
    if options.read:
        print(render(read_records(options.read, Row)))
    elif options.folder:
        run(options)
    else:
        parser.error("give --folder or --read")


def run(options: argparse.Namespace) -> None:
    """The experiment itself."""
    data = options.folder.resolve() / "data"
    data.mkdir(parents=True)
    with prefine(data) as site:
        os.environ |= {"PREFINE_DATA": str(data), "DJANGO_SETTINGS_MODULE": "webapp.settings"}
        import django

        django.setup()
        browser = Browser(site)
        person = begin(browser, options.task, options.rounds, options.start)
        waits = watch(browser, person)
        experiment, seconds = person.experiment, person.experiment.task_info.clip_seconds
        rows = [*list_rows(experiment, waits, seconds)]
        print(f"{experiment.preset}, K={experiment.k}; {machine()}\n\n{render(rows)}")
        others = [
            row for row in read_records(options.save, Row) if (row.task, row.start) != (options.task, options.start)
        ]
        write_records(options.save, [*others, *rows])
        write_sheets(experiment, seconds, options.folder)


if __name__ == "__main__":
    main()
