"""Memory that does not suffice: of a real limit, or simulated by work that refuses more than so much at a time."""

import os
import subprocess
import sys
import weakref

import pytest
import torch

from simulation.backends import choice
from simulation.backends.cpu import CpuPhysics
from simulation.bridge.connection import BridgeError
from simulation.environment import Environment
from simulation.noise import SharedNoise
from simulation.rewards.contract import compile_reward
from tests.trainer import rewards
from tests.trainer.test_lockstep import CARTPOLE, SHORT, trained
from tests.trainer.test_ppo import experience, learner
from tests.trainer.test_sac import experience as sac_experience
from tests.trainer.test_sac import learner as sac
from trainer import memory, scoring
from trainer.collect import Collector
from trainer.ppo import PPO
from trainer.process import ROOT, clean_environment
from trainer.records import TrainJob, TrainResult, read_result, shard_folder, write_json
from trainer.sac import SAC

pytestmark = pytest.mark.slow


def test_work_is_halved_until_it_fits_and_other_errors_pass():
    size = [64]

    def work() -> int:
        if size[0] > 10:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return size[0]

    def halve() -> bool:
        size[0] //= 2
        return size[0] > 0

    assert memory.retry_halved(work, halve) == 8
    with pytest.raises(torch.OutOfMemoryError):
        memory.retry_halved(lambda: (_ for _ in ()).throw(torch.OutOfMemoryError("still")), lambda: False)
    with pytest.raises(RuntimeError, match="shapes"):
        memory.retry_halved(lambda: (_ for _ in ()).throw(RuntimeError("shapes differ")), halve)


class Lost(MemoryError):
    """With a signature of its own, as libraries have them."""

    def __init__(self, *, tried: int) -> None:
        super().__init__(f"tried to allocate {tried} bytes")
        self.tried = tried


def test_the_error_that_is_left_is_the_one_that_was_raised():
    def work() -> None:
        raise Lost(tried=1 << 50)

    with pytest.raises(Lost, match="tried to allocate") as raised:
        memory.retry_halved(work, lambda: False)
    assert raised.value.tried == 1 << 50 and raised.value.__context__ is None


def test_what_did_not_fit_is_gone_before_less_is_tried():
    class Buffer:
        pass

    buffers: list[weakref.ref[Buffer]] = []

    def work() -> str:
        if buffers:
            return "fits"
        buffer = Buffer()
        buffers.append(weakref.ref(buffer))
        try:
            torch.empty(1 << 50, dtype=torch.uint8)
        except RuntimeError as error:
            raise torch.OutOfMemoryError("a buffer does not fit") from error
        raise AssertionError("a petabyte")

    def halve() -> bool:
        assert buffers[0]() is None, "kept by the error, or by what it was raised from"
        return True

    assert memory.retry_halved(work, halve) == "fits"


def test_what_pytorch_and_warp_say_on_the_cpu_is_understood():
    import warp as wp  # takes a second: not in every process that reads this file

    for allocate in (
        lambda: torch.empty(1 << 50, dtype=torch.uint8),
        lambda: wp.empty((1 << 25, 1 << 25), dtype=wp.uint8, device="cpu"),
    ):
        with pytest.raises(RuntimeError) as caught:
            allocate()
        assert memory.is_out_of_memory(caught.value)
    assert memory.is_out_of_memory(BridgeError("mujoco behind the bridge refused: MemoryError: "))
    assert not memory.is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def limited(monkeypatch: pytest.MonkeyPatch, samples: int) -> None:
    """Gradients of more than `samples` samples do not fit."""
    gradient = PPO._gradient

    def refusing(self, rows, old_log_std):
        if rows.shape[1] > samples:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return gradient(self, rows, old_log_std)

    monkeypatch.setattr(PPO, "_gradient", refusing)


def test_a_minibatch_in_parts_is_the_same_update(monkeypatch, capsys):
    whole, parted = learner(2), learner(2)
    whole.update(experience(2), SharedNoise([0]))
    limited(monkeypatch, samples=5)
    parted.update(experience(2), SharedNoise([0]))
    assert parted.parts.count > 1
    assert f"going on in {parted.parts.count} parts" in capsys.readouterr().out
    torch.testing.assert_close(parted.networks.flat, whole.networks.flat, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(parted.rates, whole.rates)


def test_a_minibatch_of_sac_in_parts_is_the_same_update(monkeypatch, capsys):
    whole, parted, start = sac(2), sac(2), sac(2)
    lived = sac_experience(2)
    whole.update(lived, SharedNoise([0]))
    logits = SAC._logits

    def refusing(self, flat, observations, actions):
        if observations.shape[1] > 5:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return logits(self, flat, observations, actions)

    monkeypatch.setattr(SAC, "_logits", refusing)
    parted.update(lived, SharedNoise([0]))
    assert (
        parted.parts.count == 4 and "an update does not fit into memory: going on in 4 parts" in capsys.readouterr().out
    )
    # Adam's first moments are sums of gradients; the parameters themselves would not show a wrong scale, and magnify
    # the last bits of a gradient near zero.
    for one, other in zip(parted.optimizers, whole.optimizers, strict=True):
        torch.testing.assert_close(one.first, other.first, rtol=1e-3, atol=1e-5 * float(other.first.abs().max()))
    for name in ("actors", "critics", "log_temperature"):
        torch.testing.assert_close(getattr(parted, name), getattr(whole, name), rtol=1e-3, atol=1e-3)
        assert not torch.allclose(getattr(parted, name), getattr(start, name), atol=1e-2)


def test_an_update_that_fits_in_no_parts_says_so(monkeypatch):
    limited(monkeypatch, samples=0)
    ppo = learner(1)
    with pytest.raises(torch.OutOfMemoryError):
        ppo.update(experience(1), SharedNoise([0]))
    assert ppo.parts.count == memory.MOST_PARTS


@pytest.mark.parametrize("where", ["worlds", "collection"])
def test_worlds_that_do_not_fit_are_halved_and_the_horizon_doubled(monkeypatch, tmp_path, capsys, where):
    class Small(CpuPhysics):
        """Room for ten worlds."""

        def _need(self):
            if self.worlds > 10:
                raise torch.OutOfMemoryError("Failed to allocate 4096 bytes on device 'cuda:0'")

        def __init__(self, *arguments):
            super().__init__(*arguments)
            if where == "worlds":
                self._need()

        def step(self, ctrl):
            self._need()
            return super().step(ctrl)

    monkeypatch.setattr(choice, "start_mujoco", Small)
    job = TrainJob("Cartpole", CARTPOLE[:2], overrides=SHORT, film_at=())
    lockstep, result = trained(tmp_path, job)
    assert (lockstep.preset.worlds, lockstep.preset.horizon) == (4, 64)
    assert [c.ok for c in result.candidates] == [True, True]
    assert result.samples == 2 * 16 * 16 * 6, "as many samples as asked for"
    assert "8 worlds a candidate do not fit into memory: going on with 4 and a horizon of 64" in capsys.readouterr().out


def test_a_bridge_begins_again_with_the_worker_that_it_has(monkeypatch, tmp_path):
    """A locked process can start no other."""
    started, engine, collect = [], choice.find_engine, Collector.collect

    def once(on, folder=""):
        assert not started, "a second worker"
        started.append(engine("bridge:mujoco", folder))
        return started[0]

    def refusing(self, learner, noise):
        if self.env.worlds > 8:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return collect(self, learner, noise)

    monkeypatch.setattr(choice, "find_engine", once)
    monkeypatch.setattr(Collector, "collect", refusing)
    job = TrainJob("Cartpole", CARTPOLE[:2], overrides=SHORT, film_at=())
    lockstep, result = trained(tmp_path, job)
    assert (lockstep.preset.worlds, [c.ok for c in result.candidates]) == (8, [True, True])
    started[0].close()


def test_all_parts_together_may_take_the_time_of_one_call(monkeypatch):
    env = Environment("Cartpole", worlds=8)
    scorer = scoring.Scorer(compile_reward(rewards.UPRIGHT, "Cartpole"))
    monkeypatch.setattr(scoring, "CALL_SECONDS", -1.0, raising=False)  # some clocks stand for 10 ms
    [whole] = scoring.score_horizon(env, [scorer], [env.attributes])
    scorer.parts.count = 4
    [parted] = scoring.score_horizon(env, [scorer], [env.attributes])
    assert whole.reason == ""
    assert parted.reason == "1 of 4 calls for parts of the states took more than -1 s of processor time"


def test_a_failure_whose_line_speaks_of_memory_is_none_of_memory():
    env = Environment("Cartpole", worlds=8)
    broken = rewards.UPRIGHT.replace("    return ", "    upright = dof_pos @ dof_vel  # not out of memory\n    return ")
    scorer = scoring.Scorer(compile_reward(broken, "Cartpole"))
    [score] = scoring.score_horizon(env, [scorer], [env.attributes])
    assert score.reason.endswith("# not out of memory") and scorer.parts.count == 1


HUNGRY = rewards.UPRIGHT.replace(
    "    return ",
    "    grid = dof_pos[:, 0:1] * torch.arange(80000)\n    upright = upright + 0.0 * grid.sum(-1)\n    return ",
)
"""The same, and 320 000 bytes for each state."""
GREEDY = rewards.UPRIGHT.replace(
    "    return ",
    "    upright = upright + torch.ones(1000000).unsqueeze(1).mul(torch.ones(1000000)).mean()\n    return ",
)
"""Four terabytes whatever the states."""


def hungry_job(*sources: str) -> TrainJob:
    """With 4096 states a horizon."""
    return TrainJob("Cartpole", sources, overrides={"worlds": 128, "horizon": 32, "iterations": 2}, film_at=())


def trained_in_jail(folder, *sources: str) -> tuple[TrainResult, str]:
    """What came of these rewards with 700 MiB, and what was printed."""
    shard = shard_folder(folder, 0, len(sources))
    shard.mkdir(parents=True)
    write_json(folder / "job.json", hungry_job(*sources))
    command = [sys.executable, "-m", "trainer.lockstep", str(folder), "0", str(len(sources))]
    command += ["--parent", str(os.getpid()), "--memory", str(700 << 20)]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=True)
    result = read_result(shard)
    assert result is not None
    return result, done.stdout


def test_a_reward_that_needs_too_much_for_all_states_is_called_for_fewer(tmp_path):
    result, said = trained_in_jail(tmp_path, rewards.UPRIGHT, HUNGRY, GREEDY, rewards.STILL)
    usual, hungry, greedy, still = result.candidates
    assert (hungry.ok, hungry.trace, hungry.metric_trace) == (usual.ok, usual.trace, usual.metric_trace)
    assert usual.ok and still.ok and not greedy.ok
    assert "the reward of candidate 1 does not fit into memory: going on in 2 parts" in said
    assert "candidate 0" not in said and "candidate 3" not in said
    assert "allocate memory" in greedy.reason and "torch.ones(1000000)" in greedy.reason
    assert "(also with 64 states at once)" in greedy.reason
    _, alone = trained(tmp_path / "alone", hungry_job(rewards.STILL))  # has memory enough
    assert alone.candidates[0].trace == still.trace
