"""`./prefine learn`: what it makes of its options, and a short run in a process of its own."""

import shutil
import subprocess

import pytest

from simulation import catalog
from simulation.rewards.verdict import Verdict
from tests import short_training
from trainer import launch
from trainer.commands.learn import _parse_options, copy_policy, main, make_job
from trainer.preferences.algorithms import Preferences
from trainer.process import ROOT, clean_environment
from trainer.records import WARM, read_result

pytestmark = pytest.mark.slow


def test_every_number_of_queries_is_trained_with_every_seed():
    given = "--task cartpole --queries 49 150 --seeds 3 8 --truth metric --segment 0 --teacher equal=0.1 --beside"
    job, names = make_job(_parse_options(given.split()))
    few = Preferences(budget=49, truth="metric", segment=0, equal=0.1)
    assert job.preferences[:3] == (few, Preferences(budget=150, truth="metric", segment=0, equal=0.1), None)
    assert (job.preferences[3:], job.seeds) == (job.preferences[:3], (3, 3, 3, 8, 8, 8))
    assert (job.preset, set(job.sources)) == ("quick", {catalog.read_reference_reward("Cartpole")})
    assert names[1:4] == ["prefppo, Q=150, seed 3", "the reward itself, seed 3", "prefppo, Q=49, seed 8"]
    given = "--task Cartpole --baseline SURF --selection Entropy --iterations 9"
    job, _ = make_job(_parse_options(given.split()))
    assert (job.preset, job.overrides) == ("quick-sac", {"iterations": 9})
    assert job.preferences == (Preferences("surf", selection="entropy"),)
    job, _ = make_job(_parse_options(["--task", "Cartpole", "--baseline", "qpa", "--teacher", "mistake=0.1"]))
    assert (job.preset, job.preferences) == ("quick-sac", (Preferences("qpa", mistake=0.1),))


def test_learning_goes_on_from_a_program_and_a_policy(tmp_path):
    program, policy = tmp_path / "winner.py", tmp_path / "winner.pt"
    program.write_text("a program")
    policy.write_bytes(b"a policy")
    options = _parse_options(["--task", "Cartpole", "--prior", str(program), "--policy", str(policy)])
    job, _ = make_job(options)
    assert job.preferences == (Preferences(truth="metric", prior=True),) and job.warm and job.sources == ("a program",)
    copy_policy(policy, tmp_path / "out", job)
    copy_policy(policy, tmp_path / "out", job)
    policy.write_bytes(b"another policy")
    with pytest.raises(ValueError, match="out began from another policy than .*winner.pt: name another folder"):
        copy_policy(policy, tmp_path / "out", job)
    policy.unlink()
    copy_policy(policy, tmp_path / "out", job)
    assert (tmp_path / "out" / WARM).read_bytes() == b"a policy", "an interrupted run goes on without the file"


def test_a_copy_of_a_policy_that_ends_half_way_is_not_taken_for_it(tmp_path, monkeypatch):
    def fill_disk(source, target):
        target.write_bytes(source.read_bytes()[:2])
        raise OSError("No space left on device")

    policy = tmp_path / "winner.pt"
    policy.write_bytes(b"a policy")
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(shutil, "copyfile", fill_disk)
        copy_policy(policy, tmp_path / "out", make_job(_parse_options(["--task", "Cartpole"]))[0])
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("option", ["--reward", "--prior"])
def test_a_program_that_cannot_run_is_refused_with_its_fault(option, tmp_path, capsys, monkeypatch):
    """The check's process is started in test_train_command.py."""
    refused = Verdict(False, "allow-list", "import is not allowed")
    monkeypatch.setattr(launch, "check", lambda task, sources, states: [refused for _ in sources])
    program = tmp_path / "broken.py"
    program.write_text("import os")
    assert main(["--task", "Cartpole", option, str(program), "--out", str(tmp_path / "out"), "--seeds", "1", "2"]) == 1
    said = capsys.readouterr()
    assert refused.reason in said.err and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--baseline icpl", "baseline"),
        ("--teacher noise=1", "--teacher noise: known are beta, gamma, mistake, skip, equal"),
        ("--teacher beta", "--teacher beta: give a name and a number"),
        ("--queries 0", "out of bounds"),
        ("--reward nowhere.py", "nowhere.py cannot be read"),
        ("--selection best", "selection"),
        ("--reward a.py --prior b.py", "give --reward or --prior"),
        ("--truth reward --prior {here}", "the teacher must compare the metric"),
        ("--policy nowhere.pt --out {folder}", "nowhere.pt is no file"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(given, message, capsys, tmp_path):
    given = given.format(here=catalog.TASKS_FOLDER / "cartpole/reference.py", folder=tmp_path)
    assert main(["--task", "Cartpole", *given.split()]) == 1
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_it_trains_films_and_says_where_its_sessions_are(tmp_path):
    options = ["--task", "Cartpole", "--queries", "2", "--segment", "4", "--iterations", "2"]
    options += ["--override", "worlds=4", "--override", "horizon=8", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [short_training.python(tmp_path / "python"), "-m", "trainer.commands.learn", *options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stderr) == (0, "")
    result = read_result(tmp_path / "out")
    assert result is not None and [c.ok for c in result.candidates] == [True]
    assert "prefppo, Q=2, seed 0" in done.stdout and f"{tmp_path}/out/preferences" in done.stdout
    assert (tmp_path / "out" / "preferences" / "0.csv").read_text().count("\n") == 2
    assert (tmp_path / "out" / "clips" / "0-100.mp4").stat().st_size > 1000
