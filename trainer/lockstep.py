"""Train some of a job's candidates in lockstep, in this process: `python -m trainer.lockstep JOB_DIR FIRST LAST`.

Started by trainer.run, one process per core: it locks the process, trains (trainer.training) and says how that ended.
"""

from __future__ import annotations

import argparse
import errno
import gc
import sys
from pathlib import Path

import torch

from simulation import catalog
from simulation.backends import choice
from simulation.bridge.connection import BridgeError
from simulation.out_of_memory import is_out_of_memory
from simulation.rewards import sandbox
from trainer.log_lines import say
from trainer.process import EXIT_DISK_FULL, EXIT_WAITS, compute_memory_share, die_with_parent
from trainer.records import TrainResult, read_job, write_json
from trainer.training import Lockstep


def train_locked(lockstep: Lockstep, job_dir: Path, device: str, memory_bytes: int) -> TrainResult | None:
    """Train in a locked process; an error that no single candidate caused fails them all, with its reason. None: the
    training waits for answers.
    """
    try:
        if device != "cpu":
            lockstep.open()
        allowed = memory_bytes + choice.read_device_memory(device)
        catalog.import_own_modules(lockstep.info.name)
        for note in sandbox.lock(writable=[job_dir], memory_bytes=allowed):
            say(note)
        choice.compile_into(device, lockstep.folder / "kernels")
        lockstep.prepare()
        return lockstep.train()
    except (BridgeError, ValueError) as error:
        return lockstep.fail(str(error))
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return lockstep.fail(f"memory does not suffice, and less at a time is not possible any more: {error}")


def main() -> int:
    """Train one shard; its exit status is 0, EXIT_WAITS or EXIT_DISK_FULL."""
    parser = argparse.ArgumentParser(prog="python -m trainer.lockstep", description="Train candidates FIRST..LAST-1.")
    parser.add_argument("job_dir", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--threads", type=int, default=1, help="threads that step the physics")
    parser.add_argument("--parent", type=int, required=True, help="process whose end ends this one")
    parser.add_argument("--device", default="cpu", help="as simulation.backends.choice names it")
    parser.add_argument("--memory", type=int, help="bytes it may take beyond its libraries")
    arguments = parser.parse_args()
    die_with_parent(arguments.parent)
    gc.freeze()  # no collection looks at loaded libraries again, not even the last, of a third of a second
    torch.set_num_threads(1)
    job_dir, device = arguments.job_dir.resolve(), arguments.device
    lockstep = Lockstep(job_dir, read_job(job_dir), arguments.first, arguments.last, arguments.threads, device)
    try:
        memory_bytes = arguments.memory or compute_memory_share(1)
        result = train_locked(lockstep, job_dir, device, memory_bytes)
        if result is None:
            return EXIT_WAITS
        write_json(lockstep.folder / "result.json", result)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        print(f"no space left on the disk of {job_dir}", file=sys.stderr, flush=True)
        return EXIT_DISK_FULL
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
