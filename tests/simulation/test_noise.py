"""Random numbers that depend on a group's seed alone."""

import pytest
import torch

from simulation.environment import Environment
from simulation.noise import SharedNoise, StepNoise


@pytest.mark.parametrize(
    "draw",
    [
        lambda noise: noise.uniform(3, 2),
        lambda noise: noise.normal(3, 2),
        lambda noise: noise.permutation(7),
        lambda noise: noise.integers(1000, 5),
    ],
)
def test_a_group_draws_what_its_seed_gives_beside_any_other(draw):
    together = SharedNoise([4, 9, 4])
    for _ in range(2):
        drawn = draw(together)
    assert torch.equal(drawn[0], drawn[2]) and not torch.equal(drawn[0], drawn[1])
    alone = SharedNoise([9])
    draw(alone)
    assert torch.equal(draw(alone)[0], drawn[1])


def test_groups_of_one_seed_share_one_row():
    assert SharedNoise([5, 5, 5]).normal(2).shape == (1, 2)


def test_what_is_kept_or_restored_goes_on_as_before():
    noise = SharedNoise([1, 2, 3, 2])
    noise.uniform(4)
    restored = SharedNoise([0])
    restored.load_state_dict(noise.state_dict())
    noise.keep([1, 3, 2])
    expected = restored.uniform(4)
    kept = noise.uniform(4)
    assert torch.equal(kept, expected[[1, 3, 2]])
    assert len(noise.streams) == 2


def test_what_is_drawn_ahead_is_what_a_draw_in_every_step_gives():
    ahead, each = StepNoise([1, 2, 1], worlds=2, size=3), SharedNoise([1, 2, 1])
    restored = StepNoise([0], worlds=2, size=3)
    for step in range(70):
        expected = each.uniform(2, 3)
        if step == 40:  # in the middle of what was drawn ahead
            restored.load_state_dict(ahead.state_dict())
            ahead.keep([1])
        if step >= 40:
            assert torch.equal(restored.next(), expected)
            expected = expected[[1]]
        assert torch.equal(ahead.next(), expected)


def test_worlds_of_several_seeds_go_as_they_would_alone():
    together = Environment("Cartpole", worlds=3, groups=3, seed=[7, 8, 7])
    alone = Environment("Cartpole", worlds=3, groups=1, seed=8)
    actions = torch.randn(40, 3, 1, generator=torch.Generator().manual_seed(0))
    for step, action in enumerate(actions):
        if step == 20:
            together.keep([1, 2])
        for env in (together, alone):
            done = env.step(action.repeat(env.groups, 1))
            env.reset(done.terminated | done.truncated)
        group = 1 if step < 20 else 0
        assert torch.equal(together.obs_buf[group * 3 : group * 3 + 3], alone.obs_buf)
    saved = together.state_dict()
    restored = Environment("Cartpole", worlds=3, groups=2, seed=0)
    restored.load_state_dict(saved)
    for env in (together, restored):
        env.step(torch.zeros(6, 1))
        env.reset()
    assert torch.equal(together.obs_buf, restored.obs_buf)
    assert not torch.equal(together.obs_buf[:3], together.obs_buf[3:])
