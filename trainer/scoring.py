"""Call the candidates' reward functions, each once for all states of a horizon."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from simulation.environment import Environment
from simulation.rewards.contract import CALL_SECONDS, OutOfMemory, RewardFailure, RewardFunction
from trainer import memory

CallMarker = Callable[[], AbstractContextManager[None]]
Rewarded = tuple[Tensor, dict[str, Tensor]]


@dataclass(frozen=True)
class Score:
    """The result of one candidate's reward function on a horizon."""

    rewards: Tensor
    """(T * M,) totals, of all K groups (K * T * M,) where they share their experience; zeros where it failed."""
    sums: dict[str, float]
    """"total" and every component -> its sum over the candidate's own steps and worlds; empty where it failed."""
    reason: str = ""
    """The reason of a failure."""


class Scorer:
    """A candidate's reward function, called in parts of the states where memory does not suffice for all at once.

    No state's reward depends on another state (a dry run has tried that), so parts change its last digits at most.
    All parts together may take the time of one call: each takes that of all other candidates, too.
    """

    def __init__(self, reward: RewardFunction, name: str = "a candidate", mark: CallMarker = nullcontext) -> None:
        """`mark`: each call is made within what this returns (`trainer.calls`)."""
        self.reward = reward
        self.parts = memory.Parts(f"the reward of {name}")
        self.seconds = 0.0
        """Processor time of all calls so far."""
        self._mark = mark

    def score(self, inputs: Mapping[str, Any], per_state: set[str], own: slice = slice(None)) -> Score:
        """The reward's result on these inputs, of which `per_state` have a row for each state; the candidate's `own`
        states are summed.
        """
        states = inputs[self.reward.world_input]
        try:
            total, components = self.parts.work(lambda parts: self._compute_rewards(inputs, per_state, parts))
        except RewardFailure as failure:
            least = len(states) // self.parts.count
            smallest = f" (also with {least} states at once)" if isinstance(failure, OutOfMemory) else ""
            return Score(torch.zeros(len(states), device=states.device), {}, f"{failure}{smallest}")
        # a copy: what a reward returns may be a narrow view of much that would stay in memory
        columns = torch.stack([total, *components.values()])
        sums = columns[:, own].sum(1, dtype=torch.float64).tolist()
        return Score(columns[0], dict(zip(("total", *components), sums, strict=True)))

    def values(self, inputs: Mapping[str, Any], per_state: set[str]) -> dict[str, Tensor]:
        """The value of "total" and every component in each state, (T * M,); empty where the reward fails on one."""
        try:
            total, components = self.parts.work(lambda parts: self._compute_rewards(inputs, per_state, parts))
        except RewardFailure:
            return {}
        return {"total": total, **components}

    def _compute_rewards(self, inputs: Mapping[str, Any], per_state: set[str], parts: int) -> Rewarded:
        if parts == 1:
            return self._call(inputs)
        split = {name: inputs[name].chunk(parts) for name in per_state}
        count = len(split[self.reward.world_input])
        results, begun = [], time.process_time()
        for i in range(count):
            results.append(self._call({**inputs, **{name: split[name][i] for name in split}}))
            if time.process_time() - begun > CALL_SECONDS:
                said = f"{i + 1} of {count} calls for parts of the states took more than {CALL_SECONDS:g} s"
                raise RewardFailure(f"{said} of processor time", "limits")
        totals, components = zip(*results, strict=True)
        names = list(components[0])
        if any(list(part) != names for part in components):
            raise RewardFailure("its components depend on the states: each needs the same ones")
        return torch.cat(totals), {name: torch.cat([part[name] for part in components]) for name in names}

    def _call(self, inputs: Mapping[str, Any]) -> Rewarded:
        begun = time.thread_time()
        try:
            with self._mark():
                return self.reward(inputs)
        finally:
            self.seconds += time.thread_time() - begun


def score_horizon(
    env: Environment, scorers: Sequence[Scorer], reached: Sequence[Mapping[str, Any]], of_all: bool = False
) -> list[Score]:
    """Call each candidate's reward for its states of a horizon, or for those of all candidates (`of_all`); `reached`:
    env.attributes after each step.
    """
    constants, states, per_world = _gather_states(env, scorers, reached)
    count = len(reached) * env.worlds
    with env.on_device():
        if not of_all:
            return [
                scorer.score(constants | _select_group(states, group), per_world)
                for group, scorer in enumerate(scorers)
            ]
        everywhere = constants | {name: values.flatten(0, 1) for name, values in states.items()}
        return [
            scorer.score(everywhere, per_world, slice(group * count, (group + 1) * count))
            for group, scorer in enumerate(scorers)
        ]


def value_horizon(
    env: Environment, scorers: Sequence[Scorer], reached: Sequence[Mapping[str, Any]]
) -> list[dict[str, Tensor]]:
    """What each candidate's reward and its components are worth in every state of a horizon."""
    constants, states, per_world = _gather_states(env, scorers, reached)
    with env.on_device():
        return [
            scorer.values(constants | _select_group(states, group), per_world) for group, scorer in enumerate(scorers)
        ]


def _gather_states(
    env: Environment, scorers: Sequence[Scorer], reached: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, Tensor], set[str]]:
    """The inputs that the rewards read: those that are equal in all worlds; the others as (K, T * M, ...), with the
    worlds of all steps side by side; the names of the latter.
    """
    read = {name for scorer in scorers for name in (scorer.reward.world_input, *scorer.reward.arguments)}
    per_world = {name for name in read if "num_envs" in env.info.inputs[name]}
    constants = {name: reached[0][name] for name in read - per_world}
    states = {name: stack_steps([step[name] for step in reached], env.groups).flatten(1, 2) for name in per_world}
    return constants, states, per_world


def _select_group(states: Mapping[str, Tensor], group: int) -> dict[str, Tensor]:
    return {name: values[group] for name, values in states.items()}


def stack_steps(values: Sequence[Tensor], groups: int) -> Tensor:
    """T tensors (K * M, ...) of K groups, as one, (K, T, M, ...)."""
    shape = (len(values), groups, -1, *values[0].shape[1:])
    return torch.stack(tuple(values)).view(shape).transpose(0, 1).contiguous()
