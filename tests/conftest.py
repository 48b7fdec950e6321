"""Which test files are read, and the order in which they begin."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

import pytest

SLOW = (
    "webapp/test_crash.py",
    "webapp/test_twenty_seven.py",
    "webapp/test_study_from_nothing.py",
    "webapp/test_backup.py",
    "webapp/test_production.py",
    "upgrades/test_upgrade.py",
    "webapp/test_browser.py",
    "simulation/test_gpu.py",
    "webapp/test_whole_way.py",
    "webapp/test_accessibility_bench.py",
    "webapp/test_comparison.py",
    "webapp/test_loop_real.py",
    "simulation/hostile/test_sources.py",
    "simulation/hostile/test_jail.py",
    "simulation/test_sandbox.py",
    "webapp/test_accessibility.py",
    "webapp/test_network.py",
    "webapp/test_full_disk.py",
    "webapp/test_broker_away.py",
    "webapp/test_people_answer_pairs.py",
    "llm/test_local.py",
    "webapp/test_run_folder.py",
    "trainer/test_run.py",
    "webapp/test_notices_browser.py",
    "trainer/test_train_command.py",
    "llm/test_every_method.py",
)
"""The slowest first: begun last, they would run alone at the end while other processes have nothing left to do."""
HERE = Path(__file__).parent
ALL_SLOW = re.compile(r"^pytestmark = (\[[^]]*)?pytest\.mark\.slow\b", re.MULTILINE)
"""In files whose tests are all slow."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without slow tests, files that have no others are not read: what they import takes seconds."""
    if config.option.markexpr.endswith("not slow") and collection_path.suffix == ".py":
        return True if ALL_SLOW.search(collection_path.read_text()) else None
    return None


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """What `-n auto` means: two processes more than cores, as slow tests often wait for browsers and trainings."""
    cores = yield
    return cores if config.option.markexpr.endswith("not slow") else cores + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {HERE / name: place for place, name in enumerate(SLOW)}
    gone = [str(path) for path in places if not path.is_file()]
    if gone:
        raise pytest.UsageError(f"tests/conftest.py names files that are not there: {', '.join(gone)}")
    items.sort(key=lambda item: places.get(item.path, len(SLOW)))
