"""`./prefine check`: the verdict on reward files, as JSON: `python -m trainer.commands.check --task T FILE...`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from simulation import catalog
from simulation.rewards import sandbox
from simulation.rewards.verdict import Verdict


def main(arguments: list[str] | None = None) -> int:
    """Print the verdict on one file as a JSON object, on several as a list; 0 when all are good, else 1."""
    parser = argparse.ArgumentParser(
        prog="./prefine check",
        description=main.__doc__,
        epilog=catalog.describe_presets(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--task", required=True, help="a task's name, in any case")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a file that defines compute_reward")
    parser.add_argument(
        "--states", type=int, default=0, metavar="N", help="also try N states at once (the quick preset's number)"
    )
    options = parser.parse_args(arguments)
    try:
        sources = [path.read_text() for path in options.files]
        verdicts = sandbox.check(catalog.find_task_name(options.task), sources, states=max(0, options.states))
    except OSError as error:
        verdicts = [Verdict(False, "input", f"cannot read {error.filename}: {error.strerror}")]
    except (ValueError, sandbox.SandboxError) as error:
        verdicts = [Verdict(False, "input", str(error))]
    records = [asdict(verdict) for verdict in verdicts]
    print(json.dumps(records[0] if len(options.files) == 1 or len(records) == 1 else records, indent=2))
    return 0 if all(verdict.ok for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
