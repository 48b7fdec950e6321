"""The verdict of the allow-list alone, without a dry run."""

from simulation.rewards.parsing import Refused, parse
from simulation.rewards.verdict import Verdict


def check_syntax(source: str, task: str) -> Verdict:
    try:
        parse(source, task)
    except Refused as refused:
        return Verdict(False, refused.stage, refused.reason)
    return Verdict(True, "allow-list")
