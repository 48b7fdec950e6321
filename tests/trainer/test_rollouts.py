"""What is recorded of a policy, for filming."""

import numpy as np
import pytest

from simulation import catalog
from simulation.environment import Environment
from simulation.rewards.contract import compile_reward
from simulation.rollout import read_rollout
from tests.trainer import rewards
from trainer.networks import NetworkShape
from trainer.ppo import PPO
from trainer.rollouts import FILM_SEED, record_rollouts
from trainer.scoring import Scorer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two untrained policies of a task that shows its goal."""
    info = catalog.get_task("AllegroHand")
    shape = NetworkShape(info.num_obs, info.num_actions, (8,), "silu")
    paths = [tmp_path_factory.mktemp("rollouts") / f"{index}.npz" for index in range(2)]
    record_rollouts(info, PPO(shape, catalog.get_preset("AllegroHand", "quick"), [0, 0], mixed_precision=False), paths)
    return [read_rollout(path) for path in paths]


def test_a_rollout_lasts_as_long_as_the_clip_and_begins_at_the_same_place(recorded):
    for rollout in recorded:
        assert rollout.task == "AllegroHand" and rollout.control_dt == 1 / 30
        assert rollout.qpos.shape == (300, 23) and rollout.restart[0]
    assert np.array_equal(recorded[0].qpos[0], recorded[1].qpos[0])


def test_what_a_task_only_shows_is_recorded_with_it(recorded):
    env = Environment("AllegroHand", worlds=1, seed=FILM_SEED)
    for rollout in recorded:
        assert rollout.mocap.shape == (300, 1, 7)
        assert np.allclose(rollout.mocap[0], env.mocap(0))
        assert np.allclose(np.linalg.norm(rollout.mocap[:, 0, 3:], axis=-1), 1.0, atol=1e-5)
        assert np.ptp(rollout.mocap[:, 0, :3], axis=0).max() == 0, "the goal has one place"


def test_a_reward_that_fails_on_what_is_filmed_leaves_the_rollout_without_its_values(tmp_path):
    info = catalog.get_task("Cartpole")
    shape = NetworkShape(info.num_obs, info.num_actions, (8,), "silu")
    learner = PPO(shape, catalog.get_preset("Cartpole", "quick"), [0, 0], mixed_precision=False)
    scorers = [Scorer(compile_reward(source, "Cartpole")) for source in (rewards.UPRIGHT, rewards.NAN_WHEN_LEANING)]
    paths = [tmp_path / f"{index}.npz" for index in range(2)]
    record_rollouts(info, learner, paths, scorers=scorers)
    upright, leaning = map(read_rollout, paths)
    assert upright.components.keys() == {"total", "upright"} and leaning.components == {}
    assert upright.qpos.shape == leaning.qpos.shape == (600, 2)
