import os
import subprocess
import sys

import pytest

from simulation import catalog
from trainer import launch
from trainer.process import ROOT, clean_environment


@pytest.mark.parametrize("module", ["trainer.launch", "trainer.run", "trainer.records", "trainer.command"])
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


def test_check_gives_one_verdict_per_source():
    good = catalog.reference_reward("Cartpole")
    verdicts = launch.check("Cartpole", [good, "def compute_reward(dof_pos):\n    import os\n", "what?"])
    assert [v.ok for v in verdicts] == [True, False, False]
    assert verdicts[0].stage == "done"
    assert all(v.reason for v in verdicts[1:])
