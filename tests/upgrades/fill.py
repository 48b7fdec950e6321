"""Fill a data folder as people and workers do, and leave everything unfinished. Started by make_fixture.py."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

django.setup()

import people  # noqa: E402
from django.core.management import call_command  # noqa: E402
from site_steps import browser, do_task, rows, staff, work  # noqa: E402

from benchmarks import simulated  # noqa: E402
from llm import serve  # noqa: E402
from llm.offline import MODEL  # noqa: E402
from trainer import checkpoint  # noqa: E402

TINY = {"iterations": 3}
LONG = 60
"""Iterations of a training that is interrupted."""
KEY, PASSWORD = "no-secret-of-a-fixture", "no-secret-either-1"
PROGRAMS = """
format: 1
problems:
  - name: add
    title: Two numbers
    subject: programming
    form: program
    language: python
    statement: Read two numbers and print their sum.
    subtasks:
      - {number: 1, points: 30, cases: [{stdin: "1 2", expected: "3"}]}
      - {number: 2, points: 70, cases: [{stdin: "10 20", expected: "30"}]}
"""
RIGHT, WRONG = simulated.answer("571", "By recursion."), simulated.answer("570", "By feeling.")
GOOD = "Add them.\n\n```python\na, b = map(int, input().split())\nprint(a + b)\n```"
HALF = "Small ones.\n\n```python\na, b = map(int, input().split())\nprint(a + b if a < 10 else 0)\n```"


# --- experiments of every method ------------------------------------------------------------------------------

Stop = tuple[str, int] | None
PLANS: list[tuple[str, dict[str, Any], Stop]] = [
    ("icpl", {"n": 3}, ("ask", 1)),
    ("icpl_wo_rt", {}, ("train", 2)),
    ("icpl_wo_rtd", {"judge": "model", "judge_model": "Served"}, ("ask", 1)),
    ("icpl_wo_rtdb", {"judge_options": {"beta": 5.0}}, ("write", 2)),
    ("open_loop", {}, ("advance", 4)),
    ("eureka", {"model": "Served"}, ("write", 2)),
    ("revolve", {"options": {"islands": 2}}, ("train", 2)),
    ("revolve_human", {"judge": "model", "options": {"islands": 1}}, ("ask", 2)),
    ("rf_agent", {"options": {"budget": 6}}, ("ask", 2)),
    ("rf_agent_judged", {"judge": "model", "options": {"budget": 6}}, ("advance", 6)),
    ("rda", {}, ("train", 2)),
    ("rda", {"vision": "Served", "options": {"analyst": "frames", "frames": 2, "rollouts": 1}}, ("ask", 2)),
    ("rda_judged", {}, ("ask", 3)),
    ("rda_scored", {}, ("write", 2)),
    ("scaling_context", {"k": 1, "n": 1}, ("train", 1)),
    ("scaling_turn", {"k": 1}, ("train", 2)),
    ("scaling_batch_score", {}, ("write", 2)),
    ("scaling_batch_model", {}, ("ask", 1)),
    ("scaling_batch_vote", {}, ("advance", 4)),
    ("scaling_3d", {"judge": "model"}, ("ask", 1)),
]
"""Method, its settings, and the job before which it stops: ("train", 2) is its second training."""
SOLVING: list[tuple[str, str, dict[str, Any], Stop]] = [
    ("scaling_3d", "staircase", {"model": "Simulated answers"}, ("train", 2)),
    ("scaling_batch_vote", "add", {"model": "Simulated programs"}, ("write", 2)),
    ("scaling_context", "staircase", {"model": "Simulated answers", "k": 1, "n": 1, "seed": 1}, None),
    ("scaling_context", "staircase", {"model": "Simulated answers", "k": 1, "n": 1, "seed": 4}, None),
]


def experiment(name: str, **values: Any) -> Any:
    for role in ("model", "judge_model", "vision"):
        if isinstance(values.get(role), str):
            values[role] = rows("experiments.LanguageModel").get(name=values[role])
    usual = {"task": "Cartpole", "k": 2, "n": 2, "judge": "proxy", "overrides": TINY}
    row = rows("experiments.Experiment").model(name=name, **{**usual, **values})
    row.full_clean()
    row.save()
    return row


def act(row: Any, action: str) -> None:
    answer = staff().post(f"/bench/{row.public_id}/do/{action}/")
    assert answer.status_code == 302, answer


def begun(name: str, stop: Stop, **values: Any) -> Any:
    row = experiment(name, **values)
    act(row, "start")
    work(row, stop)
    row.refresh_from_db()
    assert not row.error, f"{name}: {row.error}"
    return row


def of_every_method() -> None:
    for method, values, stop in PLANS:
        begun(f"{method}, before {' '.join(map(str, stop or ()))}", stop, method=method, **values)
        print(method, flush=True)
    for method, problem, values, stop in SOLVING:
        begun(f"{method} on {problem}", stop, method=method, **{"task": problem, "overrides": {}, **values})
    experiment("a draft", method="icpl")
    act(begun("a paused one", ("train", 1), method="icpl"), "pause")
    act(begun("a cancelled one", ("write", 1), method="icpl"), "cancel")
    refused = experiment("a failed one", method="icpl", model="Refusing")
    act(refused, "start")
    work(refused)
    refused.refresh_from_db()
    assert refused.status == "failed", refused.status


# --- the command line -----------------------------------------------------------------------------------------


def run_command(name: str, *arguments: str) -> subprocess.Popen[bytes]:
    shown = ["run_experiment", "--task", "Cartpole", "--k", "2", "--n", "2", "--name", name, *arguments]
    return subprocess.Popen([sys.executable, "manage.py", *shown])


def to_the_end() -> None:
    ended = run_command("finished by the command", "--iterations", "3", "--seed", "7", "--option", "measures=true")
    assert ended.wait() == 0


def interrupted(name: str, signalled: signal.Signals) -> None:
    """A training that has a checkpoint of its first third when its worker is told to end, or is killed."""
    process = run_command(name, "--iterations", str(LONG), "--seed", "8", "--method", "icpl")
    while not (row := rows("experiments.Experiment").filter(name=name).first()) or kept(row) < LONG / 3:
        assert process.poll() is None, f"{name} ended too early"
        time.sleep(0.1)
    process.send_signal(signalled)
    process.wait()
    assert row.requests.filter(kind="Train", status="open").exists()


def kept(row: Any) -> int:
    """The iteration of the experiment's checkpoint; 0 before there is one."""
    runs = Path(os.environ["PREFINE_DATA"]) / "runs"
    saved = [checkpoint.load(path) for path in runs.glob(f"{row.public_id}-*/checkpoints/shard-*/checkpoint.pt")]
    return max((state["iteration"] for state in saved if state), default=0)


# --- the rest of a site ---------------------------------------------------------------------------------------


def accounts() -> None:
    for name, role in (("ada", "experimenter"), ("vera", "viewer")):
        form = {"username": name, "password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
        staff().post("/admin/auth/user/add/", {**form, "role": role})
        signed_in = browser().post("/admin/login/", {"username": name, "password": PASSWORD, "next": "/bench/"})
        assert signed_in.status_code == 302, f"{name} has no access"


def models(served: str, answering: str, programming: str) -> None:
    usual = {"kind": "openai", "api_key": KEY, "model": MODEL}
    for name, address, more in (
        ("Served", served, {"price_input": 1.0, "price_output": 2.0}),
        ("Refusing", served, {"api_key": "another-key"}),
        ("Simulated answers", answering, {"model": simulated.NAME}),
        ("Simulated programs", programming, {"model": simulated.NAME}),
    ):
        rows("experiments.LanguageModel").create(name=name, base_url=address, **{**usual, **more})


def comparison() -> None:
    """A running comparison: its first experiment is finished, its second trains."""
    plan = {"tasks": ["Cartpole"], "methods": ["icpl:k=2", "open_loop:k=2"], "candidates": 4, "experiments": 1}
    row = rows("comparisons.Comparison").create(name="Two methods", iterations=3, seed=40, **plan)
    staff().post(f"/bench/comparisons/{row.public_id}/do/start/")
    work(rows("experiments.Experiment").get(seed=40))
    call_command("reaper", once=True)
    work(rows("experiments.Experiment").filter(seed=40, status="running").get(), ("train", 1))
    assert staff().get(f"/bench/comparisons/{row.public_id}/files/report.md").status_code == 200
    rows("comparisons.Comparison").create(name="Only planned", iterations=3, seed=50, **plan)


def problems(folder: Path) -> None:
    call_command("import_problems", "examples/problems")
    (folder / "programs.yaml").write_text(PROGRAMS)
    call_command("import_problems", folder / "programs.yaml")
    (folder / "programs.yaml").unlink()


def exports(folder: Path, study: Any) -> None:
    """One export that is made and imported again; one that is queued; the votes of a closed A/B vote."""
    data = Path(os.environ["PREFINE_DATA"])
    staff().post(f"/bench/data/{study.pk}/export/", {"clips": "on"})
    made = rows("archive.Export").get()
    do_task("prefine.archive", "export", made.pk)
    package = data / "exports" / f"{made.public_id}.zip"
    (folder / "study.zip").write_bytes(package.read_bytes())
    with package.open("rb") as file:
        staff().post("/bench/data/import/", {"file": file})
    do_task("prefine.archive", "import", rows("archive.Import").get().pk)
    assert rows("archive.Import").get().status == "done", rows("archive.Import").get().error
    staff().post(f"/bench/data/{study.pk}/export/", {"clips": "on"})
    poll = rows("votes.Poll").filter(title="A closed vote").order_by("pk").first()  # the other came with the import
    (folder / "votes.csv").write_bytes(staff().get(f"/bench/votes/{poll.public_id}/votes.csv").content)


def expected(visitors: dict[str, str]) -> dict[str, Any]:
    """The pages and states that an upgraded site must show."""
    experiments = rows("experiments.Experiment").order_by("pk")
    return {
        "people": visitors,
        "experiments": {str(row.public_id): [row.name, row.status, row.paused] for row in experiments},
        "polls": {str(poll.public_id): poll.status for poll in rows("votes.Poll").all()},
        "studies": {study.pk: study.status for study in rows("studies.Study").all()},
    }


def main(folder: Path) -> None:
    call_command("prepare")
    done: list[tuple[str, Callable[[], None]]] = [
        ("accounts", accounts),
        ("problems", lambda: problems(folder)),
        ("to the end", to_the_end),
        ("interrupted", lambda: interrupted("told to end while it trains", signal.SIGTERM)),
        ("killed", lambda: interrupted("killed while it trains", signal.SIGKILL)),
        ("methods", of_every_method),
        ("comparison", comparison),
    ]
    answers, programs = ({RIGHT: 0.6, WRONG: 0.4}, {GOOD: 0.6, HALF: 0.4})
    with (
        serve.run_server(key=KEY) as served,
        simulated.run_server(simulated.SimulatedReasoner(answers)) as answering,
        simulated.run_server(simulated.SimulatedReasoner(programs)) as programming,
    ):
        models(served.base_url, answering.base_url, programming.base_url)
        for what, step in done:
            print("---", what, flush=True)
            step()
        print("--- people", flush=True)
        study, visitors = people.come()
        exports(folder, study)
    (folder / "expected.json").write_text(json.dumps(expected(visitors), indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
