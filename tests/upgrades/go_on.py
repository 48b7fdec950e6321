"""Continue parts of an upgraded site, in a process of its own. Prints what each found, as one line of JSON.

python tests/upgrades/go_on.py FOLDER PART...
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import django

django.setup()

import fake_processes  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from site_steps import STEPS, Visitor, do_task, drain, rows, staff, without_undo_time, work  # noqa: E402

from benchmarks import simulated  # noqa: E402
from llm import serve  # noqa: E402
from trainer import launch, records  # noqa: E402
from webapp.experiments import provenance  # noqa: E402

KEY = "no-secret-of-a-fixture"
ANSWERS = {simulated.answer("571", "By recursion."): 0.6, simulated.answer("570", "By feeling."): 0.4}
GOOD = "Add them.\n\n```python\na, b = map(int, input().split())\nprint(a + b)\n```"
HALF = "Small ones.\n\n```python\na, b = map(int, input().split())\nprint(a + b if a < 10 else 0)\n```"
TO_THE_END = ("icpl", "eureka", "revolve_human", "rf_agent_judged", "rda", "scaling_3d")
"""Methods, one of each kind, whose experiments go to their end without the exhaustive tests."""
ENDS = ("thanks", "withdrawn", "stopped", "check_failed", "closed", "left", "unknown")
"""Pages without a further step."""


@contextlib.contextmanager
def at_work() -> Iterator[None]:
    """Models answer again, under other addresses; trainings, films, checks and git take no time."""
    with (
        serve.run_server(key=KEY) as served,
        simulated.run_server(simulated.SimulatedReasoner(ANSWERS)) as answering,
        simulated.run_server(simulated.SimulatedReasoner({GOOD: 0.6, HALF: 0.4})) as programming,
        fake_processes.replace_processes(Path(settings.DATA_DIR) / "media" / "clips"),
        without_undo_time(),
        mock.patch.object(provenance, "_run_git", return_value=None),
    ):
        addresses = {"Served": served, "Refusing": served, "Simulated answers": answering}
        for name, server in {**addresses, "Simulated programs": programming}.items():
            model = rows("experiments.LanguageModel").filter(name=name)
            model.update(base_url=server.base_url, api_key=KEY)
        yield


def press(action: str, experiments: Any) -> None:
    for row in experiments:
        staff().post(f"/bench/{row.public_id}/do/{action}/")


def tick() -> None:
    """Do the work of reaper and workers, until none is left."""
    call_command("reaper", once=True)
    drain()


# --- the parts ------------------------------------------------------------------------------------------------


def pages(folder: Path) -> dict[str, Any]:
    """Read every page of the bench, and the page of every link, before anything continues."""
    client, failed = staff(), {}
    addresses = list(bench_pages())
    for address in addresses:
        answer = client.get(address)
        if answer.status_code != 200:
            failed[address] = f"{answer.status_code} {answer.content[:300]!r}"
    expected = json.loads((folder / "expected.json").read_text())
    people = {address: Visitor(address).look() for address in expected["people"]}
    changed = {address: [expected["people"][address], state] for address, state in people.items()}
    return {
        "failed": failed,
        "asked": len(addresses),
        "states": sorted(set(people.values())),
        "changed": {address: states for address, states in changed.items() if states[0] != states[1]},
    }


def bench_pages() -> Iterator[str]:
    yield from ("/", "/bench/", "/bench/tasks/", "/bench/studies/", "/bench/comparisons/", "/bench/votes/")
    yield from ("/bench/data/", "/bench/audit/", "/bench/account/", "/admin/")
    kinds = {
        (row.method, row.task, row.judge, row.status, row.paused, hasattr(row, "imported")): row
        for row in rows("experiments.Experiment").order_by("pk")
    }
    for number, row in enumerate(kinds.values()):
        page = f"/bench/{row.public_id}/"
        one = rows("experiments.Candidate").filter(iteration__experiment=row).first()
        more = (f"{page}live/", f"{page}rounds.svg", f"{page}lineage/", f"{page}{one.key}/") if one else ()
        yield from (page, *(more if number % 7 == 0 else ()))
    for row in rows("studies.Study").all():
        yield from (f"/bench/studies/{row.pk}/", f"/bench/data/{row.pk}/", f"/admin/studies/study/{row.pk}/change/")
    for name, model in (("comparisons", "comparisons.Comparison"), ("votes", "votes.Poll")):
        yield from (f"/bench/{name}/{row.public_id}/" for row in rows(model).all())
    for model in ("experiments/languagemodel", "problems/problem", "auth/user", "review/trial"):
        yield f"/admin/{model}/"


def audit(folder: Path) -> dict[str, Any]:
    """The chain of the audit log holds; else the command raises."""
    said = io.StringIO()
    call_command("verify_audit", stdout=said)
    return {"said": said.getvalue()}


def experiments(folder: Path) -> dict[str, Any]:
    """Experiments that no person judges, and comparisons, go to their end.

    Of some methods they are left once the method has read what an earlier version saved: what follows is today's.
    """
    alone = rows("experiments.Experiment").exclude(judge="human").filter(imported=None).exclude(status="draft")
    left = alone.filter(name__contains=", before ").exclude(method__in=TO_THE_END)
    with at_work():
        press("resume", alone.filter(paused=True))
        press("retry", alone.filter(status="failed"))
        for row in left:
            work(row, ("advance", 2))
        left.update(paused=True)
        comparisons = rows("comparisons.Comparison")
        for row in comparisons.filter(status="planned"):
            staff().post(f"/bench/comparisons/{row.public_id}/do/start/")
        go_to_their_end(alone.filter(paused=False), comparisons)
    return {
        "left": {row.name: [row.status, row.error] for row in left},
        "ended": {row.name: [row.status, row.error] for row in alone if row not in left},
        "comparisons": {row.name: row.status for row in comparisons.all()},
        "clips": sorted(set(rows("experiments.Clip").values_list("status", flat=True))),
        "records": len(list((Path(settings.DATA_DIR) / "records").glob("*.json"))),
    }


def go_to_their_end(*wanted: Any) -> None:
    """Work until none of these rows runs any more."""
    for _ in range(12):
        tick()
        if not any(some.filter(status="running").exists() for some in wanted):
            break
    tick()


def left(folder: Path) -> dict[str, Any]:
    """Those that were left go to their end, too."""
    paused = rows("experiments.Experiment").exclude(judge="human").filter(imported=None, paused=True)
    named = [row.name for row in paused]
    with at_work():
        press("resume", paused)
        again = rows("experiments.Experiment").filter(name__in=named, imported=None)
        go_to_their_end(again)
    return {row.name: [row.status, row.error] for row in again.all()}


def training(folder: Path) -> dict[str, Any]:
    """One training goes on from its checkpoint, and one of the old policies is filmed, by the real programs."""
    experiment = rows("experiments.Experiment").get(name="told to end while it trains")
    request = experiment.requests.get(kind="Train", status="open")
    kept = Path(settings.DATA_DIR) / "runs" / f"{experiment.public_id}-{request.step}"
    run = Path(shutil.copytree(kept, folder / "run"))
    reached = records.read_progress(run).fraction
    for told in run.rglob("progress.json"):  # what comes then is said of today's run
        told.unlink()
    process, first = launch.train(run, records.read_job(run)), 0.0
    while process.poll() is None:
        first = first or records.read_progress(run).fraction
        time.sleep(0.05)
    result = records.read_result(run)
    rollout = next((Path(settings.DATA_DIR) / "runs").glob("*/rollouts/0-100.npz"))
    filmed, _ = launch.film([(rollout, folder / "film.mp4")]).communicate()
    return {
        "reached": reached,
        "first": first,
        "trained": [candidate.reason or candidate.ok for candidate in result.candidates] if result else [],
        "filmed": json.loads(filmed)["ok"],
    }


def people(folder: Path) -> dict[str, Any]:
    """Every participant continues to the last page."""
    expected = json.loads((folder / "expected.json").read_text())["people"]
    everybody = [Visitor(address) for address in expected if address.startswith("/s/")]
    judged = rows("experiments.Experiment").filter(judge="human", imported=None)
    with at_work():
        press("resume", judged.filter(paused=True))
        press("retry", judged.filter(status="failed"))
        left = everybody
        for _ in range(20):
            tick()
            for person in left:
                goes_on(person)
            left = [person for person in left if person.state not in ENDS]
            if not left:
                break
        tick()
    study = {person.address: study_of(person) for person in everybody}
    return {
        "ended": {person.address: [study[person.address], person.state, code_of(person)] for person in everybody},
        "errors": [row.error for row in judged if row.error],
        "statuses": sorted(set(judged.values_list("status", flat=True))),
    }


def goes_on(person: Visitor, most: int = 20) -> None:
    """Take all steps that need neither other people nor workers."""
    person.look()
    for _ in range(most):
        if person.state not in STEPS:
            return
        STEPS[person.state](person)


def study_of(person: Visitor) -> str:
    found = rows("studies.Participant").filter(token=person.address.split("/")[2]).first()
    return found.study.title if found else ""


def code_of(person: Visitor) -> str:
    found = re.search(r"CODE-[A-Z]+", person.text)
    return found[0] if found else ""


def votes(folder: Path) -> dict[str, Any]:
    """Complete the open votes, which close; earlier answers are as before, in the columns of then."""
    before = (folder / "votes.csv").read_text()
    closed = rows("votes.Poll").filter(title="A closed vote").order_by("pk").first()
    after = staff().get(f"/bench/votes/{closed.public_id}/votes.csv").content.decode()
    width = len(before.partition("\n")[0].split(","))
    table = list(csv.reader(after.splitlines()))
    ended = {}
    for poll in rows("votes.Poll").filter(status="open"):
        staff().post(f"/bench/votes/{poll.public_id}/invite/", {"count": 3})
        for evaluator in rows("votes.Evaluator").filter(poll=poll, finished_at=None, withdrawn_at=None):
            with without_undo_time():
                answers_all(Visitor(f"/v/{evaluator.token}/"))
        poll.refresh_from_db()
        staff().post(f"/bench/votes/{poll.public_id}/unblind/")
        page = staff().get(f"/bench/votes/{poll.public_id}/votes.csv")
        ended[poll.title] = [poll.status, page.status_code, page.content.decode().count("\n")]
    return {
        "before": list(csv.reader(before.splitlines())),
        "after": [row[:width] for row in table],
        "named": [len(row) > width and row[width] for row in table],
        "ended": ended,
    }


def answers_all(person: Visitor) -> None:
    for _ in range(10):
        state = person.look()
        if state == "consent":
            person.agree()
        elif state == "ballot":
            person.send("answer", showing=person.field("showing"), choice="right", client="{}")
        else:
            return


def exports(folder: Path) -> dict[str, Any]:
    """Make the queued export, and export a study once more."""
    for task in rows("archive.Export").filter(status="queued"):
        do_task("prefine.archive", "export", task.pk)
    study = rows("studies.Study").get(title="Poles", origin=None)
    staff().post(f"/bench/data/{study.pk}/export/", {"clips": "on"})
    newest = rows("archive.Export").filter(study=study).order_by("pk").last()
    do_task("prefine.archive", "export", newest.pk)
    newest.refresh_from_db()
    package = Path(settings.DATA_DIR) / "exports" / f"{newest.public_id}.zip"
    (folder / "again.zip").write_bytes(package.read_bytes())
    made = rows("archive.Export").all()
    return {"statuses": sorted({task.status for task in made}), "errors": [task.error for task in made if task.error]}


def imports(folder: Path) -> dict[str, Any]:
    """Import both exports in a folder of their own, and read their pages."""
    call_command("prepare")
    found = {}
    for name in ("study.zip", "again.zip"):
        with (folder / name).open("rb") as file:
            staff().post("/bench/data/import/", {"file": file})
        task = rows("archive.Import").order_by("pk").last()
        do_task("prefine.archive", "import", task.pk)
        task.refresh_from_db()
        found[name] = [task.status, task.error]
    client = staff()
    return {"imports": found, "failed": [page for page in bench_pages() if client.get(page).status_code != 200]}


PARTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    part.__name__: part for part in (pages, audit, training, experiments, left, people, votes, exports, imports)
}

if __name__ == "__main__":
    print(json.dumps({name: PARTS[name](Path(sys.argv[1])) for name in sys.argv[2:]}), flush=True)
