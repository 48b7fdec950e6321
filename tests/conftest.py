"""Which test files are read, and the order in which they begin."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

SLOW = (
    "webapp/test_crash.py",
    "webapp/in_browser",
    "webapp/test_twenty_seven.py",
    "webapp/test_study_from_nothing.py",
    "webapp/test_backup.py",
    "webapp/test_production.py",
    "upgrades/test_upgrade.py",
    "simulation/test_gpu.py",
    "webapp/test_whole_way.py",
    "webapp/test_comparison.py",
    "webapp/test_loop_real.py",
    "simulation/hostile/test_sources.py",
    "simulation/hostile/test_jail.py",
    "simulation/test_sandbox.py",
    "webapp/test_network.py",
    "webapp/test_full_disk.py",
    "webapp/test_broker_away.py",
    "webapp/test_people_answer_pairs.py",
    "llm/test_local.py",
    "webapp/test_run_folder.py",
    "trainer/test_run.py",
    "trainer/test_train_command.py",
    "llm/test_every_method.py",
)
"""The slowest first: begun last, they would run alone at the end while other processes have nothing left to do."""
TOGETHER = (
    "webapp/in_browser/",  # a site and a browser
    "webapp/test_(archive|erasure|import_prompts|retention)",  # a finished study and its exports
    "webapp/test_comparison(|_report)[.]py",  # a finished comparison
)
"""Files that share what takes seconds to make: one process has all of them."""
HERE = Path(__file__).parent
IN_BROWSER = HERE / "webapp" / "in_browser"
ALL_SLOW = re.compile(r"^pytestmark = (\[[^]]*)?pytest\.mark\.slow\b", re.MULTILINE)
"""In files whose tests are all slow."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without slow tests, files that have no others are not read: what they import takes seconds."""
    if not config.option.markexpr.endswith("not slow"):
        return None
    if collection_path.suffix == ".py":
        return True if ALL_SLOW.search(collection_path.read_text()) else None
    return True if collection_path == IN_BROWSER else None


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """What `-n auto` means: two processes more than cores, as slow tests often wait for browsers and trainings."""
    cores = yield
    return cores if config.option.markexpr.endswith("not slow") else cores + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """What gives the files to processes: each file to one, and those that share something to the same."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            shared = (files for files in TOGETHER if re.match(f"tests/{files}", nodeid))
            return next(shared, super()._split_scope(nodeid))

    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {HERE / name: place for place, name in enumerate(SLOW)}
    gone = [str(path) for path in places if not path.exists()]
    if gone:
        raise pytest.UsageError(f"tests/conftest.py names files that are not there: {', '.join(gone)}")
    items.sort(key=lambda item: min(places.get(path, len(SLOW)) for path in (item.path, item.path.parent)))
