"""Syntax check of a reward source, and the command line `python -m simulation.rewards.check`."""

from __future__ import annotations

from simulation import catalog
from simulation.rewards.syntax import Refused, parse
from simulation.rewards.verdict import Verdict


def check_syntax(source: str, task: str) -> Verdict:
    """Parse the source and hold it against the allow-list, without executing anything.

    Raises ValueError on an unknown task.
    """
    catalog.task(task)
    try:
        parse(source, task)
    except Refused as refused:
        return Verdict(False, refused.stage, refused.reason)
    return Verdict(True, "allow-list")
