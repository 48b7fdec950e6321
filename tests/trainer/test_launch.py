import os
import subprocess
import sys

import pytest

from trainer import launch
from trainer.process import ROOT, clean_environment

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("module", ["trainer.launch", "trainer.run", "trainer.records", "trainer.commands.train"])
def test_starting_training_imports_neither_torch_nor_mujoco(module):
    program = f"import sys, {module}; print(sorted({{'torch', 'mujoco', 'numpy', 'django'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_children_get_no_secrets(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("DJANGO_SECRET_KEY", "secret")
    monkeypatch.setenv("MUJOCO_GL", "egl")
    environment = clean_environment(OMP_NUM_THREADS="1")
    assert "secret" not in environment.values()
    assert (environment["MUJOCO_GL"], environment["OMP_NUM_THREADS"]) == ("egl", "1")
    assert environment["PATH"] == os.environ["PATH"]


def test_a_checker_that_hangs_is_stopped(monkeypatch, tmp_path):
    hanging = tmp_path / "trainer" / "commands" / "check.py"
    hanging.parent.mkdir(parents=True)
    hanging.write_text("import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(600)\n")
    monkeypatch.setattr(launch, "ROOT", tmp_path)
    monkeypatch.setattr(launch, "clean_environment", lambda: {"PYTHONPATH": str(tmp_path)})
    monkeypatch.setattr(launch, "CHECK_START_SECONDS", 5.0)
    monkeypatch.setattr(launch, "CHECK_SECONDS", 0.0)
    with pytest.raises(RuntimeError, match="the reward checker gave no answer within 5 s and was stopped"):
        launch.check("Cartpole", ["x"])
    started = tmp_path / "pid"
    assert not started.exists() or not os.path.exists(f"/proc/{started.read_text()}")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            'print(\'{"ok": false, "stage": "input", "reason": "the checking process failed: x"}\')',
            "the checking process failed: x",
        ),
        ("raise SystemExit('no room')", "the reward checker failed with exit status 1: no room"),
    ],
)
def test_a_checker_that_fails_says_so_once(monkeypatch, tmp_path, program, said):
    failing = tmp_path / "trainer" / "commands" / "check.py"
    failing.parent.mkdir(parents=True)
    failing.write_text(program)
    monkeypatch.setattr(launch, "ROOT", tmp_path)
    monkeypatch.setattr(launch, "clean_environment", lambda: {"PYTHONPATH": str(tmp_path)})
    with pytest.raises(RuntimeError) as raised:
        launch.check("Cartpole", ["x"])
    assert str(raised.value) == said
