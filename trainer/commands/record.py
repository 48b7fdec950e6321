"""`python -m trainer.commands.record POLICY SEED ROLLOUT ...`: episodes of a policy without exploration, for films."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from trainer.checkpoint import load_policy
from trainer.evaluation import Episode, record_episode


def record(policy: Path, episodes: Sequence[tuple[int, Path]]) -> None:
    """Write a rollout for each seed; equal seeds begin alike for all policies of a task. Raises ValueError where there
    is no policy that can be run here.
    """
    loaded = load_policy(policy)
    torch.set_num_threads(1)
    for seed, path in episodes:
        record_episode(loaded, Episode(seed, 0, 0, False, False, 0.0, 0), 1, path)


def main(arguments: Sequence[str]) -> int:
    """Record; exit status 1 where a policy cannot be run here."""
    policy, *rest = arguments
    try:
        record(Path(policy), [(int(seed), Path(path)) for seed, path in zip(rest[::2], rest[1::2], strict=True)])
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
