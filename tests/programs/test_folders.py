"""Nothing of a program stays on the disk, whatever became of the process that judged it."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from programs import folders
from programs.judging import judge
from programs.records import Case, Limits

pytestmark = pytest.mark.slow

JUDGING = """
import sys
from programs.judging import judge
from programs.records import Case, Limits
judge(["import time\\ntime.sleep(600)"], "python", [Case("", "")], Limits(cpu_seconds=60.0),
      lambda: print("begun", flush=True))
"""


@pytest.fixture
def temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def age(*old):
    for folder in old:
        os.utime(folder, (0, 0))


def test_what_a_killed_process_left_goes_when_the_next_begins_and_nothing_that_is_in_use(temporary_folder):
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", JUDGING], stdout=subprocess.PIPE, cwd=root, start_new_session=True
    )
    assert process.stdout.readline() == b"begun\n"
    left = list(temporary_folder.glob("prefine-program-*"))
    assert len(left) == 2, "one of the judging, one of the program"
    age(*left)
    judge(["print(1)"], "python", [Case("", "1")], Limits())
    assert all(folder.exists() for folder in left), "another process works in them"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert all(folder.exists() for folder in left)
    age(*left)
    judge(["print(1)"], "python", [Case("", "1")], Limits())
    assert list(temporary_folder.glob("prefine-program-*")) == []


def test_a_folder_that_is_just_being_made_stays(temporary_folder):
    young = Path(tempfile.mkdtemp(prefix=folders.PREFIX))
    folders.remove_abandoned()
    assert young.exists()
