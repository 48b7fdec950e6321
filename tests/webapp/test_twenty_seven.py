"""People run the published design, each in a browser of their own; the export tells exactly what they did.

Twenty-seven of them, or seven with habits that differ, two rounds and three videos in each.
Real site, workers, rewards, training and films. Robots practise briefly, films are short (short_training.py).
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import subprocess
import sys
import zipfile
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from llm import replay
from tests import short_training
from tests.webapp import evaluators, participant_habits
from tests.webapp.evaluators import Votes
from tests.webapp.participants import Crowd, Memory, Pick
from tests.webapp.second_installation import check_import
from tests.webapp.sites import ROOT, serve

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]
"""A person's whole way, a vote in browsers, an export and its import: others hold each by itself."""

LEAVER, SLIPS = f"Crowd-{participant_habits.LEAVER}", "Crowd-2"
ARMS = ("sentinel_first", "sentinel_second")
FORBIDDEN = ("icpl", "sentinel", "compute_reward", "crowd-", "final_score", "episode duration")


@dataclass(frozen=True)
class Cast:
    """Who takes part; what is particular about each participant follows from the number."""

    participants: tuple[int, ...]
    evaluators: int
    k: int
    rounds: int

    @property
    def labels(self) -> list[str]:
        return [f"Crowd-{number}" for number in self.participants]

    @property
    def set_up(self) -> str:
        return f"labels, k, n = {self.labels!r}, {self.k}, {self.rounds}\n{SET_UP}"

    @property
    def poll(self) -> str:
        chosen = [label for label in self.labels if label != LEAVER][:2]
        return f"labels, wanted = {chosen!r}, {self.evaluators}\n{POLL}"


TWENTY_SEVEN = Cast(tuple(range(1, 8)), 20, 6, 3)
SEVEN = Cast((1, participant_habits.LEAVER, participant_habits.CHEATER), 4, 3, 2)
SET_UP = f"""
from webapp.studies import opening
from webapp.studies.models import Arm, CompletionCode, Participant, Question, Study
study = Study.objects.create(
    title="Poles that stay up", seed=4711, contact="Dr. Ada Example, ada@example.org", practice=True,
    consent_text="Purpose. We want to know how people judge robots. You may stop at any time.",
    ethics_protocol="2026-17", ethics_expires_on="2999-12-31", debriefing="We compared two ways of asking.",
)
for place, name in enumerate({ARMS!r}):
    Arm.objects.create(study=study, name=name, position=place, task="Cartpole", method="icpl", k=k, n=n)
Question.objects.create(study=study, text="What do you do?", answers="Watch and choose\\nNothing at all")
for outcome in ("finished", "withdrawn"):
    CompletionCode.objects.create(study=study, outcome=outcome, code="CODE-" + outcome)
assert opening.open_study(study) == []
people = [Participant.objects.create(study=study, label=label) for label in labels]
out["study"], out["people"] = study.pk, {{person.label: person.get_absolute_url() for person in people}}
"""
POLL = f"""
from webapp.experiments.models import Clip
from webapp.studies.models import Participant
from webapp.votes import lifecycle, poll_enrolment
from webapp.votes.models import Pair, Poll
people = [Participant.objects.get(label=label) for label in labels]
first, second = [Clip.objects.get(candidate=person.experiment.winner, percent=100) for person in people]
poll = Poll.objects.create(
    title="Which pole stays up better", question="Which one is calmer?", instructions="Look at how calm it is.",
    consent_text="You may stop at any time.", contact="Dr. Ada Example, ada@example.org", evaluators_wanted=wanted,
)
arms = dict(zip(("first_arm", "second_arm"), {ARMS!r}))
Pair.objects.create(poll=poll, position=1, first=first, second=second, **arms)
assert lifecycle.open_poll(poll) == []
invited = poll_enrolment.invite_evaluators(poll, wanted + 1)
out["people"] = {{person.label: person.get_absolute_url() for person in invited}}
"""

CLOSED = """
from django.test import override_settings
from webapp.votes import lifecycle
with override_settings(UNDO_SECONDS=0):
    assert lifecycle.close_full_polls() == 1
"""


@pytest.fixture
def site(tmp_path_factory):
    python = short_training.python(tmp_path_factory.mktemp("python"))
    with serve(tmp_path_factory.mktemp("crowd"), ["webapp.supervisor"], python, PREFINE_UNDO_SECONDS="3600") as site:
        yield site


class Export:
    """The zip, as a reader takes it."""

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path) as file:
            self.files = {name.partition("/")[2]: file.read(name) for name in file.namelist()}

    def table(self, name: str) -> dict[int, dict[str, Any]]:
        return {row["id"]: row for row in json.loads(self.files[f"tables/{name}.json"])}

    def csv(self, name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.files[name].decode())))

    @cached_property
    def text(self) -> str:
        """Everything that is no film, all in one."""
        return "\n".join(data.decode() for name, data in self.files.items() if not name.endswith((".mp4", ".jpg")))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("cast", [SEVEN, TWENTY_SEVEN], ids=["seven", "twenty-seven"])
def test_people(cast, site, tmp_path, tmp_path_factory):
    made = site.python(cast.set_up)
    people = asyncio.run(participant_habits.study(site, made["people"], cast.rounds, FORBIDDEN))
    invited = site.python(cast.poll)["people"]
    votes, complaints = asyncio.run(evaluators.poll(site, invited, cast.evaluators, FORBIDDEN))
    site.python(CLOSED)
    assert people.complaints == complaints == []
    assert (sorted(people.memories), len(votes.picked)) == (cast.labels, cast.evaluators)
    assert votes.refused == [f"E{cast.evaluators + 1:02}"]

    export = exported(site, made["study"], tmp_path / "study.zip")
    stayed = {label: memory for label, memory in people.memories.items() if not memory.left}
    check_votes(export, stayed, cast.rounds)
    check_experiments(export, stayed, tmp_path, cast)
    check_poll(export, votes, cast.evaluators)
    check_who_left(export, people)
    check_import(tmp_path / "study.zip", tmp_path_factory.mktemp("elsewhere"))
    tokens = [token for of in people.ballots.values() for token in of]
    addresses = [address.split("/")[2] for address in (*made["people"].values(), *invited.values())]
    for secret in (*tokens, *addresses, *votes.showings.values(), "CODE-"):
        assert secret not in export.text


def exported(site, study: int, path: Path) -> Export:
    command = [sys.executable, "manage.py", "export_study", str(study), str(path)]
    subprocess.run(command, cwd=ROOT, env=site.env, check=True)
    return Export(path)


# --- what participants did ----------------------------------------------------------------------------------------


def check_votes(export: Export, stayed: dict[str, Memory], rounds: int) -> None:
    """Every pick, by candidate and by film; what was taken back; the orders; and nothing else."""
    votes = votes_of(export)
    for undone, kept in ((False, "confirmed"), (True, "taken_back")):
        said = {label: [vote[1:4] for vote in votes[label] if vote[0] == undone] for label in stayed}
        assert said == {label: [as_row(pick) for pick in getattr(memory, kept)] for label, memory in stayed.items()}
    assert sum(map(len, votes.values())) == (rounds + 1) * len(stayed) + 1
    for label, memory in stayed.items():
        films = [vote[4] for vote in votes[label] if not vote[0]]
        for pick, film in zip(memory.confirmed, films, strict=True):
            assert pick.film.startswith(film), "the film that was seen is the one that the export names"
        assert memory.code == "CODE-finished"
    orders = orders_of(export)
    assert {label: orders[label] for label in stayed} == {label: memory.orders for label, memory in stayed.items()}
    assert len({str(memory.orders) for memory in stayed.values()}) == len(stayed), "everybody has their own"


def as_row(pick: Pick) -> tuple[str, str | None, str]:
    return pick.best, pick.worst, pick.reason


def keys_of(export: Export) -> dict[int, str]:
    iterations = export.table("iterations")
    candidates = export.table("candidates").items()
    return {pk: f"{iterations[row['iteration']]['number']}-{row['index']}" for pk, row in candidates}


def film_of(export: Export, candidate: int) -> bytes:
    [name] = [
        clip["name"]
        for clip in export.table("clips").values()
        if clip["candidate"] == candidate and clip["percent"] == 100
    ]
    return export.files[f"clips/{name}.mp4"]


def votes_of(export: Export) -> dict[str, list[tuple[Any, ...]]]:
    """Label -> votes as given: whether taken back, best, worst, reason, the best one's film."""
    people, screenings, keys = export.table("participants"), export.table("screenings"), keys_of(export)
    found: dict[str, list[tuple[Any, ...]]] = {row["label"]: [] for row in people.values()}
    for vote in export.csv("tables/votes.csv"):
        label = people[screenings[int(vote["screening"])]["participant"]]["label"]
        best, worst = int(vote["best"]), int(vote["worst"] or 0)
        said = (bool(vote["undone_at"]), keys[best], keys.get(worst), vote["reason"], film_of(export, best))
        found[label].append(said)
    return found


def orders_of(export: Export) -> dict[str, list[list[str]]]:
    people, keys = export.table("participants"), keys_of(export)
    found: dict[str, list[list[str]]] = {row["label"]: [] for row in people.values()}
    for screening in export.table("screenings").values():
        found[people[screening["participant"]]["label"]].append([keys[pk] for pk in screening["order"]])
    return found


def check_experiments(export: Export, stayed: dict[str, Memory], folder: Path, cast: Cast) -> None:
    """Each ended with the winner that its person picked, and can be played again from what is in the zip."""
    people, experiments, arms = (export.table(name) for name in ("participants", "experiments", "arms"))
    keys = keys_of(export)
    assert {people[row["participant"]]["label"] for row in export.table("assignments").values()} == set(stayed)
    assert len(experiments) == len(stayed) and {arm["name"] for arm in arms.values()} == set(ARMS)
    for place in export.table("assignments").values():
        memory = stayed[people[place["participant"]]["label"]]
        experiment = experiments[place["experiment"]]
        assert (experiment["status"], keys[experiment["winner"]]) == ("finished", memory.confirmed[-1].best)
        film = film_of(export, experiment["winner"])
        assert memory.winner.startswith(film), "the last page shows the winner"
        rounds = [row for row in export.table("iterations").values() if row["experiment"] == place["experiment"]]
        picked = [(keys[row["best"]], keys[row["worst"]]) for row in sorted(rounds, key=lambda row: row["number"])]
        assert picked == [(pick.best, pick.worst) for pick in memory.confirmed[: cast.rounds]]
    assert len(keys) == cast.k * cast.rounds * len(stayed)
    records = [name for name in export.files if name.startswith("replay/")]
    assert len(records) == len(stayed)
    for name in records:
        path = folder / "record.json"
        path.write_bytes(export.files[name])
        replay.replay(replay.read_record(path))


def check_who_left(export: Export, people: Crowd) -> None:
    [gone] = [row for row in export.table("participants").values() if row["label"] not in people.memories]
    assert gone["label"].startswith("deleted") and gone["outcome"] == "withdrawn"
    assert people.memories[LEAVER].code == "CODE-withdrawn" and len(people.memories[LEAVER].confirmed) == 1
    assert LEAVER not in export.text
    attempts = {row["label"]: row["attempts"] for row in export.table("participants").values()}
    assert attempts == {label: 2 if label == SLIPS else 1 for label in attempts}


# --- what evaluators did ------------------------------------------------------------------------------------------


def check_poll(export: Export, votes: Votes, wanted: int) -> None:
    [pair] = export.table("pairs").values()
    arms = {export.files[f"votes/{pair[f'{role}_file']}.mp4"]: pair[f"{role}_arm"] for role in ("first", "second")}
    clicked = {label: arms[film] for label, film in votes.picked.items()}
    rows = export.csv("polls/1/votes.csv")
    assert {row["evaluator"]: row["preferred"] for row in rows} == clicked
    assert len(rows) == len(export.table("pair_votes")) == wanted and {row["counted"] for row in rows} == {"1"}
    found = json.loads(export.files["polls/1/results.json"])
    counts, [result] = Counter(clicked.values()), found["pairs"]
    assert (result["first arm"], result["second arm"]) == ARMS
    assert (result["first"], result["second"], result["equal"]) == (counts[ARMS[0]], counts[ARMS[1]], 0)
    assert found["evaluators counted"] == wanted
    assert set(counts.values()) == {wanted - wanted // 3, wanted // 3}
    assert Counter(row["first_left"] for row in export.table("showings").values()) == {
        True: wanted // 2,
        False: wanted // 2,
    }
    [poll] = export.table("polls").values()
    assert poll["status"] == "closed" and all(arm in export.files["polls/1/plan.txt"].decode() for arm in ARMS)
