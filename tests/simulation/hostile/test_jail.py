"""The jail alone: attacks run as plain Python after `sandbox.lock`, and again without it, to see that they attack."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.rewards import landlock, sandbox
from tests.simulation.hostile import runner
from tests.simulation.hostile.jail_attacks import ATTACKS, FILES

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the jail is Linux's"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="system calls are attacked by their x86-64 numbers"),
    pytest.mark.slow,
]
ROOT_ONLY = {"change_root", "mount", "set_host_name", "device_node", "new_namespaces"}


def _all(mode: str, folder: Path) -> dict[str, dict]:
    command = [sys.executable, "-I", runner.__file__, str(sandbox.ROOT), mode, str(folder)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=250, env={"PREFINE_SECRET": "1"})
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@pytest.fixture(scope="module")
def locked_attacks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    return _all("locked", tmp_path_factory.mktemp("locked"))


@pytest.fixture(scope="module")
def unlocked_attacks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    return _all("free", tmp_path_factory.mktemp("free"))


@pytest.mark.parametrize("name", ATTACKS)
def test_the_jail_stops_it(name: str, locked_attacks: dict[str, dict]):
    if name in FILES and landlock.version() == 0:
        pytest.skip("this kernel has no Landlock")
    result = locked_attacks[name]
    assert not result["harm"], result
    assert result["error"]
    assert (result["secret"], result["victim"]) == ("secret", True)
    assert result["files"] == ["inside", "secret.txt", "socket"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ATTACKS)
def test_it_is_an_attack_where_nothing_is_locked(name: str, unlocked_attacks: dict[str, dict]):
    if name in ROOT_ONLY and os.geteuid() != 0:
        pytest.skip("only root can do this")
    assert unlocked_attacks[name]["harm"], unlocked_attacks[name]
