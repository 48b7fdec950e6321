"""Memory that does not suffice, simulated by work that refuses more than so much at a time."""

import weakref

import pytest
import torch
import warp as wp

from simulation.backends import choice
from simulation.backends.cpu import CpuPhysics
from simulation.noise import SharedNoise
from tests.trainer.test_lockstep import CARTPOLE, SHORT, trained
from tests.trainer.test_ppo import experience, learner
from trainer import memory
from trainer.collect import Collector
from trainer.ppo import MOST_PARTS, PPO
from trainer.records import TrainJob


def test_work_is_halved_until_it_fits_and_other_errors_pass():
    size = [64]

    def work() -> int:
        if size[0] > 10:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return size[0]

    def halve() -> bool:
        size[0] //= 2
        return size[0] > 0

    assert memory.halving(work, halve) == 8
    with pytest.raises(torch.OutOfMemoryError):
        memory.halving(lambda: (_ for _ in ()).throw(torch.OutOfMemoryError("still")), lambda: False)
    with pytest.raises(RuntimeError, match="shapes"):
        memory.halving(lambda: (_ for _ in ()).throw(RuntimeError("shapes differ")), halve)


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

    assert memory.halving(work, halve) == "fits"


def test_what_pytorch_and_warp_say_on_the_cpu_is_understood():
    for allocate in (
        lambda: torch.empty(1 << 50, dtype=torch.uint8),
        lambda: wp.empty((1 << 25, 1 << 25), dtype=wp.uint8, device="cpu"),
    ):
        with pytest.raises(RuntimeError) as caught:
            allocate()
        assert memory.is_exhausted(caught.value)
    assert not memory.is_exhausted(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def limited(monkeypatch: pytest.MonkeyPatch, samples: int) -> None:
    """Gradients of more than so many samples do not fit."""
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
    assert parted.parts > 1
    assert f"going on in {parted.parts} parts" in capsys.readouterr().out
    torch.testing.assert_close(parted.networks.flat, whole.networks.flat, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(parted.rates, whole.rates)


def test_an_update_that_fits_in_no_parts_says_so(monkeypatch):
    limited(monkeypatch, samples=0)
    ppo = learner(1)
    with pytest.raises(torch.OutOfMemoryError):
        ppo.update(experience(1), SharedNoise([0]))
    assert ppo.parts == MOST_PARTS


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


def test_a_bridge_begins_anew_with_the_worker_that_it_has(monkeypatch, tmp_path):
    """A locked process can start no other."""
    started, engine, collect = [], choice.engine, Collector.collect

    def once(on, folder=""):
        assert not started, "a second worker"
        started.append(engine("bridge:mujoco", folder))
        return started[0]

    def refusing(self, learner, noise):
        if self.env.worlds > 8:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return collect(self, learner, noise)

    monkeypatch.setattr(choice, "engine", once)
    monkeypatch.setattr(Collector, "collect", refusing)
    job = TrainJob("Cartpole", CARTPOLE[:2], overrides=SHORT, film_at=())
    lockstep, result = trained(tmp_path, job)
    assert (lockstep.preset.worlds, [c.ok for c in result.candidates]) == (8, [True, True])
    started[0].close()
