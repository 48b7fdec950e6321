"""The checking process: simulates samples once, then tries each source in a locked child of its own.

Started by `sandbox.check` with a clean environment, in an empty folder; reads a request on stdin, answers on stdout.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from simulation import catalog
from simulation.mujoco_models import ModelError
from simulation.rewards import contract, sample_states, sandbox
from simulation.rewards.parsing import Refused, list_statements_without_effect, parse
from simulation.rewards.sample_states import Sample
from simulation.rewards.verdict import Verdict

MEMORY_BYTES = 1 << 30
CPU_SECONDS = 5
CALL_SECONDS = 0.02
"""Processor time that one call on sample_states.WORLDS worlds may take; usual ones take 0.0002."""
TRAINING_CALL_SECONDS = 1.0
"""Processor time that one call may take on as many states as training has at once; usual ones take 0.001."""
PAIRED = 24
"""Worlds that are also tried two by two."""
ANSWER_BYTES = 1 << 16
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Answer one request: {"task", "sources", "timeout", "states"} -> [verdict, ...]."""
    _die_with_parent()
    gc.freeze()  # no collection looks at loaded libraries again, not even the last, of a third of a second
    torch.set_num_threads(1)
    request = json.load(sys.stdin)
    try:
        tried = sample_states.collect_samples(request["task"])
    except ModelError as error:
        raise SystemExit(str(error)) from None
    task, timeout, states = (request[name] for name in ("task", "timeout", "states"))
    verdicts = [_judge_in_child(task, source, tried, timeout, states) for source in request["sources"]]
    json.dump([asdict(verdict) for verdict in verdicts], sys.stdout)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _judge_in_child(task: str, source: str, tried: list[Sample], timeout: float, states: int) -> Verdict:
    """Fork, lock the child, judge the source there, and read its answer until its time runs out."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_child(task, source, tried, writing, states)
    os.close(writing)
    answer, in_time = read_answer(reading, child, timeout)
    os.close(reading)
    if not in_time:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not in_time:
        return Verdict(False, "limits", f"it did not finish within {timeout:g} s")
    return _decode(answer, status)


def _run_child(task: str, source: str, tried: list[Sample], writing: int, states: int) -> None:
    """The child's work; never returns. It keeps one open file: the pipe to its parent."""
    _die_with_parent()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(null, standard)
    os.closerange(3, writing)
    os.closerange(writing + 1, 1 << 16)
    for note in sandbox.lock((), MEMORY_BYTES, CPU_SECONDS):
        print(note, file=sys.stderr, flush=True)
    os.close(2)
    os.write(writing, json.dumps(asdict(judge(task, source, tried, states))).encode()[:ANSWER_BYTES])
    os._exit(0)


def read_answer(reading: int, child: int, timeout: float) -> tuple[bytes, bool]:
    """The child's output until it closed the pipe, and whether it did so within `timeout` seconds. Those in which it
    waits for a processor do not count: on a busy machine a sound reward would be called too slow.
    """
    answer, began = b"", time.monotonic()
    while len(answer) <= ANSWER_BYTES:
        left = began + timeout + _read_seconds_waited(child) - time.monotonic()
        if left <= 0.0:
            return answer, False
        ready, _, _ = select.select([reading], [], [], left)
        if not ready:
            continue
        part = os.read(reading, ANSWER_BYTES)
        if not part:
            return answer, True
        answer += part
    return b"", True


def _read_seconds_waited(child: int) -> float:
    """How long a process that could run has waited for a processor; 0 where the kernel does not count it."""
    try:
        return int(Path(f"/proc/{child}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _decode(answer: bytes, status: int) -> Verdict:
    """The child's verdict, or what its death means."""
    if status == -signal.SIGXCPU or (status == -signal.SIGKILL and not answer):
        return Verdict(False, "limits", f"it used more than {CPU_SECONDS} s of processor time, or too much memory")
    if status != 0:
        return Verdict(False, "run", f"it crashed the process that ran it (status {status})")
    try:
        data: dict[str, Any] = json.loads(answer)
        return Verdict.from_record(data)
    except (ValueError, KeyError, TypeError):
        return Verdict(False, "run", "it ended the process that ran it without an answer")


def judge(task: str, source: str, tried: list[Sample], states: int) -> Verdict:
    """The verdict on a source, in this process: call it in a locked one only. `states`: see `sandbox.check`."""
    try:
        reward = contract.compile_reward(source, task)
        started = time.process_time()
        results = [_run(reward, sample) for sample in tried]
        seconds = (time.process_time() - started) / len(tried)
        _require_determinism(reward, tried[0])
        per_world = {n for n, kind in catalog.get_task(task).inputs.items() if "num_envs" in kind}
        for sample in (tried[1], tried[-1]):
            _require_independence(reward, sample, per_world)
        _require_variation([total for total, _ in results])
        whole_seconds = _time_at_training_size(reward, tried[0], per_world, states)
    except Refused as refused:
        return Verdict(False, refused.stage, refused.reason)
    except contract.RewardFailure as failure:
        return Verdict(False, failure.stage, str(failure))
    if seconds > CALL_SECONDS:
        return Verdict(
            False, "limits", f"one call takes {1000 * seconds:.0f} ms: use batched tensor operations, no loops"
        )
    if whole_seconds > TRAINING_CALL_SECONDS:
        return Verdict(
            False,
            "limits",
            f"one call for {states} states, as in training, takes {whole_seconds:.1f} s: make it cheaper",
        )
    return Verdict(True, "done", notes=list_statements_without_effect(parse(source, task), source))


def _run(reward: contract.RewardFunction, sample: Sample) -> tuple[Tensor, dict[str, Tensor]]:
    """One call, on inputs that it must not change."""
    before = {name: value.clone() for name, value in sample.inputs.items() if isinstance(value, Tensor)}
    try:
        total, components = reward(sample.inputs)
    except contract.RewardFailure as failure:
        raise contract.RewardFailure(f"{failure} (on {sample.kind})", failure.stage) from None
    for name, value in before.items():
        if not torch.equal(value, sample.inputs[name]):  # type: ignore[arg-type]  # a tensor, as before
            raise contract.RewardFailure(f"it changes its input {name!r}: work on a clone")
    if any(result.requires_grad for result in (total, *components.values())):
        raise contract.RewardFailure("its results carry gradients")
    return total.clone(), {name: value.clone() for name, value in components.items()}


def _require_determinism(reward: contract.RewardFunction, sample: Sample) -> None:
    state = torch.get_rng_state()
    (total, components), (again, others) = reward(sample.inputs), reward(sample.inputs)
    same = torch.equal(total, again) and torch.equal(torch.get_rng_state(), state) and set(components) == set(others)
    if not same or any(not torch.equal(value, others[name]) for name, value in components.items()):
        raise contract.RewardFailure("two calls on the same inputs differ: a reward must be deterministic")


def _require_independence(reward: contract.RewardFunction, sample: Sample, per_world: set[str]) -> None:
    """The reward of a world must not change when worlds are permuted or left out; pairs tell `if torch.any(...)`."""
    total, components = reward(sample.inputs)
    every = torch.randperm(sample_states.WORLDS, generator=torch.Generator().manual_seed(2))
    for index in (every, every[: sample_states.WORLDS // 2], *every[:PAIRED].view(-1, 2)):
        try:
            other, others = reward(sample_states.select_worlds(sample.inputs, per_world, index))
        except contract.RewardFailure as failure:
            raise contract.RewardFailure(f"{failure} (with {len(index)} worlds)", failure.stage) from None
        for name, value in {**components, "total": total}.items():
            changed = other if name == "total" else others.get(name)
            scale = max(1.0, value.abs().max().item())
            if changed is None or not torch.allclose(changed, value[index], rtol=1e-4, atol=1e-5 * scale):
                what = "the total" if name == "total" else f"component {name!r}"
                reason = f"{what} of one world depends on the other worlds: reduce over dim=-1, never over all worlds"
                raise contract.RewardFailure(reason)


def _time_at_training_size(reward: contract.RewardFunction, sample: Sample, per_world: set[str], states: int) -> float:
    """The seconds of one call on `states` states, copies of the sample's; it must give what it gives for the sample.

    A call that needs more memory than there is here says nothing: training then calls it for fewer states at once.
    """
    expected, _ = reward(sample.inputs)
    copies = torch.arange(states) % sample_states.WORLDS
    read = {name: sample.inputs[name] for name in {*reward.arguments, reward.world_input}}
    inputs = sample_states.select_worlds(read, per_world, copies)
    started = time.process_time()
    try:
        total, _ = reward(inputs)
    except contract.OutOfMemory:
        return 0.0
    except contract.RewardFailure as failure:
        raise contract.RewardFailure(f"{failure} (with {states} worlds)", failure.stage) from None
    seconds = time.process_time() - started
    scale = max(1.0, expected.abs().max().item())
    if not torch.allclose(total, expected[copies], rtol=1e-4, atol=1e-5 * scale):
        raise contract.RewardFailure(f"the total of one world is another with {states} worlds")
    return seconds


def _require_variation(totals: list[Tensor]) -> None:
    values = torch.cat(totals)
    if values.max() == values.min():
        reason = (
            f"the total is constant ({values[0].item():g}) over all worlds and steps: nothing can be learned from it"
        )
        raise contract.RewardFailure(reason)
