"""Two versions on one database, for the time of an upgrade."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from django.db.migrations import AddField, AddIndex, AlterField, AlterModelOptions, CreateModel
from django.db.migrations.loader import MigrationLoader

from tests.upgrades.checkouts import NEWER, become_newer, copy_checkout
from tests.webapp.servers import ROOT, production, static_files, wait_for
from webapp.experiments import jobs, protocol
from webapp.experiments.models import Experiment, Job

BEFORE = [
    ("accounts", "0001_authenticator_apps"),
    ("archive", "0003_pilots"),
    ("audit", "0001_initial"),
    ("comparisons", "0006_results_elsewhere"),
    ("endpoints", "0001_endpoints"),
    ("experiments", "0014_workers"),
    ("notices", "0001_initial"),
    ("problems", "0001_squashed_0002_cases_as_they_are"),
    ("review", "0001_squashed_0005_words_of_answers"),
    ("studies", "0016_own_words_and_reversed_rows"),
    ("votes", "0006_languages"),
]
"""The oldest database whose processes may still run beside today's: since then workers have names and a protocol."""

HARMLESS = {
    ("experiments", "0016_final_answers"),
    ("notices", "0002_sessions"),
    ("comparisons", "0008_six_experiments"),
    ("review", "0009_gold_pairs"),
    ("experiments", "0030_rounds"),
    ("studies", "0025_rounds"),
    ("experiments", "0031_labels"),
    ("votes", "0010_labels"),
    ("experiments", "0032_shorter_choices"),
    ("studies", "0026_shorter_choices"),
    ("votes", "0011_words"),
    ("experiments", "0034_shorter_later_rounds"),
    ("studies", "0028_shorter_later_rounds"),
    ("experiments", "0035_answered_pairs"),
}
"""Migrations with which older processes read and write as before: one adds to rows what pages do without, one lets a
request have several notices, where older processes write one, one proposes another number of experiments, one
constrains rows that they do not write, eight call fields or choices otherwise on pages, two offer one choice more.
"""

TRAINING = 480
"""Seconds in which a training of a minute ends on a machine that does ten other things."""


def test_older_processes_can_write_to_todays_database() -> None:
    """Since then, migrations add tables, and columns that an older process does not fill."""
    graph = MigrationLoader(None).graph
    before = {key for leaf in BEFORE for key in graph.forwards_plan(leaf)}
    later = [key for key in graph.nodes if key not in before | HARMLESS and key[0] in dict(BEFORE)]
    assert ("experiments", "0015_training_start") in later
    refused = [f"{key}: {operation.describe()}" for key in later for operation in find_breaking(graph.nodes[key])]
    assert refused == []


@pytest.mark.django_db(transaction=True)
def test_a_message_reaches_those_alone_who_can_do_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle worker of before would take it from the queue and drop it; the next one comes minutes later."""
    sent: list[str] = []
    monkeypatch.setattr(jobs, "send_message", lambda task, arguments, queue: sent.append(queue))
    monkeypatch.setattr(protocol, "PROTOCOL", 2)
    experiment = Experiment.objects.create(name="x", task="Cartpole")
    for number in (1, 2, 3):
        jobs.ring(Job.objects.create(experiment=experiment, kind=Job.Kind.TRAIN, protocol=number))
    assert sent == ["train", "train-2", "train-3"]
    assert protocol.list_queues("train") == sent[:2]


def find_breaking(migration: Any) -> Iterator[Any]:
    for operation in migration.operations:
        field = getattr(operation, "field", None)
        if isinstance(operation, CreateModel | AddIndex | AlterModelOptions):
            continue
        if isinstance(operation, AddField) and (field.null or field.many_to_many or field.has_db_default()):
            continue
        if isinstance(operation, AlterField) and (
            field.null or field.choices or field.has_db_default()
        ):  # it takes what it took before
            continue
        yield operation


@dataclass(frozen=True)
class Version:
    """A checkout, whose processes share servers and a data folder with those of the other one."""

    checkout: Path
    environment: dict[str, str]
    stack: ExitStack

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "manage.py", *arguments]
        with (Path(self.environment["PREFINE_DATA"]) / "output").open("ab") as log:
            process = subprocess.Popen(command, cwd=self.checkout, env=self.environment, stdout=log, stderr=log)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        return process

    def run(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=self.checkout, env=self.environment, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else done.stderr

    def start_experiment(self, name: str, rounds: int, iterations: int) -> None:
        plan = f"n={rounds}, overrides={{'iterations': {iterations}, 'worlds': 32}}"
        self.run("shell", "-v0", "-c", START.format(name=name, plan=plan))

    def read_page(self, drain: str = "") -> dict[str, str]:
        """The page of workers, in small letters: name -> its row. Tells the named one to finish and stop."""
        return dict(json.loads(self.run("shell", "-v0", "-c", PAGE.format(drain=drain)).splitlines()[-1]))

    def ask(self, query: str) -> list[Any]:
        """Rows of the database, asked directly."""
        with closing(psycopg2.connect(self.environment["PREFINE_DATABASE_URL"])) as database, database.cursor() as rows:
            rows.execute(query)
            return rows.fetchall()

    def list_jobs(self, kind: str) -> list[Any]:
        """Status, protocol, attempt, strikes and progress of the jobs of the experiment `x`."""
        experiment = "(SELECT id FROM experiments_experiment WHERE name = 'x')"
        fields = "status, protocol, attempt, strikes, progress"
        return self.ask(
            f"SELECT {fields} FROM experiments_job WHERE kind = '{kind}' AND experiment_id = {experiment} ORDER BY id"
        )


START = """
from webapp.experiments import loop
from webapp.experiments.models import Experiment
loop.start(Experiment.objects.create(name="{name}", task="Cartpole", judge="proxy", k=2, {plan}))
"""
PAGE = """
import json, re
from django.contrib.auth.models import User
from django.test import Client
from webapp.experiments.models import Worker
user, _ = User.objects.get_or_create(username="boss", is_staff=True, is_superuser=True)
client = Client(SERVER_NAME="localhost")
client.force_login(user)
for worker in Worker.objects.filter(name="{drain}"):
    client.post(f"/bench/workers/{{worker.pk}}/drain/", {{"drain": "yes"}})
parts = client.get("/bench/workers/").text.split('<tr id="worker-')[1:]
rows = [re.sub(r"\\s+", " ", re.sub("<[^>]+>", " ", part.partition(">")[2])).strip().lower() for part in parts]
print(json.dumps({{row.split()[0]: row for row in rows}}))
"""


@pytest.mark.exhaustive
@pytest.mark.timeout(2400)
def test_workers_of_two_versions_work_side_by_side(postgres: int, redis: int, tmp_path: Path) -> None:
    """As docs/upgrading.md has it: the database first, then the site, then the workers. Old ones finish what they hold,
    and are refused what only new ones understand.
    """
    environment = production(tmp_path / "data", postgres, redis).environment
    static_files(tmp_path / "data")
    copy_checkout(tmp_path / "newer")
    become_newer(tmp_path / "newer")
    with ExitStack() as stack:
        old, new = Version(ROOT, environment, stack), Version(tmp_path / "newer", environment, stack)
        old_trainer = old.start("worker", "train", "--name", "old-train", "--device", "cpu")
        old_writer = old.start("worker", "llm", "--name", "old-llm")
        old.start_experiment("x", rounds=2, iterations=150)
        wait_for(lambda: [job for job in old.list_jobs("train") if job[4].get("fraction")], "a training")
        assert "The database is of an earlier version" in new.run("worker", "train", "--name", "too early")

        new.run("migrate", "--no-input", "-v0")
        assert [job[0] for job in old.list_jobs("train")] == ["running"]
        old.start_experiment("begun by the old site", rounds=1, iterations=3)
        new.start("reaper")
        new.start("worker", "llm", "--name", "new-llm")
        new.start("worker", "film", "--name", "new-film")
        new.read_page(drain="old-llm")
        assert old_writer.wait(60) == 0
        wait_for(
            lambda: [job[:2] for job in new.list_jobs("train")[1:]] == [("queued", protocol.PROTOCOL + 1)],
            "a job for new workers",
        )
        wait_for(lambda: "cannot take new work" in new.read_page()["old-train"], "an idle old worker", TRAINING)
        page = new.read_page()
        assert "other" in page["old-train"]
        assert NEWER in page["new-llm"] and "other" not in page["new-llm"]

        new.start("worker", "train", "--name", "new-train", "--device", "cpu")
        end = "SELECT DISTINCT status FROM experiments_experiment"
        wait_for(lambda: new.ask(end) == [("finished",)], "the end of both", TRAINING)
        first, second = new.list_jobs("train")
        assert NEWER not in first[4]["made_by"]["version"] and NEWER in second[4]["made_by"]["version"]
        wait_for(lambda: all(job[0] == "done" for job in new.list_jobs("film")), "the films", TRAINING)
        done = [job for kind in ("advance", "write", "train", "film") for job in new.list_jobs(kind)]
        assert {(status, attempt, strikes) for status, _, attempt, strikes, _ in done} == {("done", 1, 0)}
        old_trainer.send_signal(signal.SIGTERM)
        assert old_trainer.wait(60) == 0
