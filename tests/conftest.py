"""The order in which test files begin."""

from __future__ import annotations

from pathlib import Path

import pytest

SLOW = (
    "webapp/test_crash.py",
    "webapp/test_twenty_seven.py",
    "trainer/test_devices.py",
    "webapp/test_production.py",
    "upgrades/test_upgrade.py",
    "webapp/test_browser.py",
    "simulation/test_gpu.py",
    "webapp/test_whole_way.py",
    "webapp/test_comparison.py",
    "webapp/test_loop_real.py",
    "simulation/hostile/test_sources.py",
    "simulation/hostile/test_jail.py",
    "simulation/test_sandbox.py",
    "webapp/test_accessibility.py",
    "webapp/test_headless.py",
    "trainer/test_run.py",
    "webapp/test_notices_browser.py",
    "trainer/test_train_command.py",
    "llm/test_every_method.py",
)
"""The slowest first: begun last, they would run alone at the end while other processes have nothing left to do."""
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {HERE / name: place for place, name in enumerate(SLOW)}
    gone = [str(path) for path in places if not path.is_file()]
    if gone:
        raise pytest.UsageError(f"tests/conftest.py names files that are not there: {', '.join(gone)}")
    items.sort(key=lambda item: places.get(item.path, len(SLOW)))
