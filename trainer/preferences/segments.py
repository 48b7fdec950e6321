"""What people or teachers could be asked about: a reservoir of segments of each row's episodes.

A segment lies within one episode and has `steps` steps, or the whole episode where that is shorter. An episode is cut
into consecutive segments from its beginning; its last one ends with it, and overlaps the one before where the episode
is no multiple long. So every step is in a segment, the end of every episode too, and two segments are equally long
unless an episode was shorter: B-Pref's code needs episodes of one length. Where `steps` is the length of the longest
episode, segments are whole episodes.

Shapes: R rows, T steps of a horizon, W recorded worlds a row, C places in the reservoir, L steps, F inputs, P numbers
of a pose, where segments are to be filmed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

RECORDED_WORLDS = 16
"""The worlds of each row whose segments are kept."""
STEPS_KEPT = 51_200
"""Of each row, about: 1 024 segments of 50 steps. Whole episodes: LEAST_PLACES of them at least."""
LEAST_PLACES = 100
EPISODES_KEPT = 100
"""Whole episodes, however long, that a row keeps of which only the last ones count: the most that a method asks for."""
TENSORS = ("_ring", "_ages", "_returns", "_rows", "_lengths", "_episodes")
SHOWN_TENSORS = ("_shown_ring", "_shown")
"""What checkpoints hold; those of earlier versions lack the second."""
LEAST_SEGMENTS = 10
"""A row is asked about nothing before it has this many."""
RECENT = 10
"""Episodes whose mean return the teacher's thresholds follow (B-Pref, section 3.2)."""


@dataclass(frozen=True)
class Segments:
    """S segments of one row, right-aligned: what a shorter one lacks is at its beginning."""

    inputs: Tensor
    """(S, L, F) observations and actions; zeros where a segment has no step."""
    valid: Tensor
    """(S, L) bool: the steps that a segment has."""
    truths: Tensor
    """(S, L) what each step is worth to the teacher: the human-written reward, or the metric where it counts."""
    poses: Tensor
    """(S, L, P) how the robot stood before each step, as Environment.poses has it; P = 0 where nobody films it."""
    metrics: Tensor
    """(S,) the sum of the task's metric over the steps at which it counts; NaN where it counts at none, or was not
    kept.
    """

    def __len__(self) -> int:
        return len(self.inputs)

    def choose(self, chosen: Tensor) -> Segments:
        """These of them."""
        return Segments(*(getattr(self, field.name)[chosen] for field in fields(self)))


def count_places(steps: int, longest: int = 0) -> int:
    """C: how many segments of `steps` steps a row keeps. `longest`: steps of the longest episode, of which it keeps
    EPISODES_KEPT.
    """
    return max(LEAST_PLACES, STEPS_KEPT // steps, EPISODES_KEPT * -(-longest // steps))


class SegmentReservoir:
    """At most C segments of each of R rows: of its last n episodes, or of all that it has had, each equally likely."""

    def __init__(
        self,
        features: int,
        worlds: int,
        steps: int,
        horizon: int,
        last_episodes: Sequence[int | None],
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
        pose_size: int = 0,
        longest: int = 0,
        outside: bool = True,
    ) -> None:
        """`last_episodes`, of each row: n, or None for all; `features`: F; `worlds`: W; `horizon`: the largest T;
        `pose_size`: P; `longest`: steps of the longest episode; `outside`: whether others than teachers answer. The
        rows of a training are alike in whether only their last episodes count.
        """
        rows = len(seeds)
        count = count_places(steps, longest if any(last is not None for last in last_episodes) else 0)
        self._features = features
        self.steps, self.last_episodes = steps, list(last_episodes)
        asked, shown = (pose_size, 1) if outside else (0, 1 + pose_size)
        self.device = torch.device(device)
        self._random = [random.Random(f"segments {seed}") for seed in seeds]
        # a ring of the last steps of every world: inputs, worth, pose, whether it counts
        self._ring = torch.zeros(rows, steps + horizon, worlds, features + asked + 2, device=device)
        self._next = 0
        self._ages = torch.zeros(rows, worlds, dtype=torch.int64)
        self._returns = torch.zeros(rows, worlds, dtype=torch.float64)
        self._rows = torch.zeros(rows, count, steps, features + asked + 1, device=device)
        # beside both, what the training would go on without: the metric, NaN where it does not count, and the poses
        # where a teacher answers
        self._shown_ring = torch.full((rows, steps + horizon, worlds, shown), torch.nan, device=device)
        self._shown = torch.full((rows, count, steps, shown), torch.nan, device=device)
        self._lengths = torch.zeros(rows, count, dtype=torch.int64)
        self._episodes = torch.full((rows, count), -1, dtype=torch.int64)
        """The number of episodes of the row that had ended before a segment's; -1 in an empty place."""
        self._offered = [0] * rows
        self._ended = [0] * rows
        self._recent: list[list[tuple[float, int]]] = [[] for _ in seeds]
        """(return, steps) of each row's last episodes."""

    def add(
        self,
        inputs: Tensor,
        truths: Tensor,
        counts: Tensor,
        ended: Tensor,
        poses: Tensor | None = None,
        metrics: Tensor | None = None,
    ) -> None:
        """Take in one horizon: inputs (R, T, W, F); truths, counts and ended (R, T, W); poses (R, T, W, P); metrics
        (R, T, W), NaN where the metric does not count.

        `counts`: the steps at which `truths` says something; a segment without one cannot be judged and is not kept.
        """
        horizon, size = inputs.shape[1], self._ring.shape[1]
        at = (self._next + torch.arange(horizon)) % size
        worth = torch.where(counts, truths, 0.0)
        stood = inputs[..., :0] if poses is None else poses
        asked = stood[..., : self._ring.shape[-1] - self._features - 2]
        steps = torch.cat((inputs, worth.unsqueeze(-1), asked, counts.unsqueeze(-1)), dim=-1)
        self._ring[:, at.to(self.device)] = steps
        known = torch.full_like(worth, torch.nan) if metrics is None else metrics
        shown = torch.cat((known.unsqueeze(-1), stood), dim=-1)[..., : self._shown.shape[-1]]
        self._shown_ring[:, at.to(self.device)] = shown
        worth, ended = worth.cpu().double(), ended.cpu()
        for t in range(horizon):
            self._ages += 1
            self._returns += worth[:, t]
            complete = ended[:, t] | (self._ages % self.steps == 0)
            if complete.any():
                self._offer(complete, ended[:, t], int(at[t]))
            for row, world in ended[:, t].nonzero().tolist():
                self._recent[row].append((float(self._returns[row, world]), int(self._ages[row, world])))
            self._ages[ended[:, t]] = 0
            self._returns[ended[:, t]] = 0.0
        self._recent = [episodes[-RECENT:] for episodes in self._recent]
        self._next = (self._next + horizon) % size

    def pool(self, row: int) -> list[int]:
        """The places of the segments that a row may be asked about at present."""
        last = self.last_episodes[row]
        oldest = 0 if last is None else max(0, self._ended[row] - last)
        return (self._episodes[row] >= oldest).nonzero().flatten().tolist()

    def segments(self, row: int, chosen: Sequence[int]) -> Segments:
        """The segments in these places of a row."""
        places = torch.tensor(list(chosen), dtype=torch.int64, device=self.device)
        found, shown = self._rows[row, places], self._shown[row, places]
        lengths = self._lengths[row, list(chosen)].to(self.device).unsqueeze(1)
        valid = torch.arange(self.steps, device=self.device) >= self.steps - lengths
        inputs, truths, poses = found.tensor_split((self._features, self._features + 1), dim=-1)
        poses = torch.cat((poses, shown[..., 1:]), dim=-1)
        return Segments(inputs, valid, truths.squeeze(-1), poses, _sum_known(shown[..., :1]))

    def mean_step(self, row: int) -> float:
        """What a step was worth on average in the row's last RECENT episodes; 0 before the first has ended.

        Times a segment's length, this is B-Pref's mean return times segment length over episode length, for episodes
        of any length.
        """
        steps = sum(length for _, length in self._recent[row])
        return sum(value for value, _ in self._recent[row]) / steps if steps else 0.0

    @property
    def keeps_poses(self) -> bool:
        """Whether its segments can be filmed."""
        return self._rows.shape[-1] > self._features + 1 or self._shown.shape[-1] > 1

    def keep(self, rows: list[int]) -> None:
        """Go on with these rows only."""
        for name in (*TENSORS, *SHOWN_TENSORS):
            setattr(self, name, getattr(self, name)[rows])
        for name in ("last_episodes", "_random", "_offered", "_ended", "_recent"):
            setattr(self, name, [getattr(self, name)[row] for row in rows])

    def state_dict(self) -> dict[str, Any]:
        """Everything that a continuation needs: tensors and plain values."""
        return {name: getattr(self, name) for name in (*TENSORS, *SHOWN_TENSORS)} | {
            "next": self._next,
            "offered": self._offered,
            "ended": self._ended,
            "recent": self._recent,
            "random": [source.getstate() for source in self._random],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict. One of an earlier version goes on without the metric, and without poses where a
        teacher answers.
        """
        for name in ("_ring", "_rows"):
            setattr(self, name, state[name].to(self.device))
        for name, like in zip(SHOWN_TENSORS, (self._ring, self._rows), strict=True):
            setattr(self, name, state.get(name, like[..., :0]).to(self.device))
        for name in ("_ages", "_returns", "_lengths", "_episodes"):
            setattr(self, name, state[name])
        self._next, self._offered, self._ended = state["next"], list(state["offered"]), list(state["ended"])
        self._recent = [[tuple(episode) for episode in episodes] for episodes in state["recent"]]
        self._random = [random.Random() for _ in state["random"]]
        for source, saved in zip(self._random, state["random"], strict=True):
            source.setstate(saved)

    def _offer(self, complete: Tensor, ended: Tensor, newest: int) -> None:
        """Keep the segments that end in these worlds (R, W) at this place of the ring, as far as they get a place, and
        count the episodes that `ended` (R, W) with them one after the other.
        """
        rows, worlds = complete.nonzero(as_tuple=True)
        lengths = self._ages[rows, worlds].clamp(max=self.steps)
        at = (newest - self.steps + 1 + torch.arange(self.steps)) % self._ring.shape[1]
        where = (rows.unsqueeze(1).to(self.device), at.to(self.device), worlds.unsqueeze(1).to(self.device))
        found = self._ring[where]
        valid = torch.arange(self.steps) >= self.steps - lengths.unsqueeze(1)
        valid = valid.unsqueeze(-1).to(self.device)
        found, shown = found * valid, torch.where(valid, self._shown_ring[where], torch.nan)
        counted = (found[..., -1] > 0).any(1).tolist()
        also_ended = ended[rows, worlds].tolist()
        for index, (row, length) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
            place = self._place(row) if counted[index] else None
            if place is not None:
                self._rows[row, place] = found[index, :, :-1]
                self._shown[row, place] = shown[index]
                self._lengths[row, place] = length
                self._episodes[row, place] = self._ended[row]
            self._ended[row] += also_ended[index]

    def _place(self, row: int) -> int | None:
        """Where the next segment of a row goes, if anywhere: the oldest place where only the last episodes count, else
        by reservoir sampling (Vitter, 1985, algorithm R), which keeps each of all so far with equal probability.
        """
        number, count = self._offered[row], self._rows.shape[1]
        self._offered[row] += 1
        if number < count or self.last_episodes[row] is not None:
            return number % count
        place = self._random[row].randrange(number + 1)
        return place if place < count else None


def _sum_known(steps: Tensor) -> Tensor:
    """Sums (S,) of steps (S, L, 0 or 1), without those that are NaN; NaN where no other is there."""
    known = ~steps.isnan()
    return torch.where(known.flatten(1).any(1), steps.nansum((1, 2)), torch.nan)
