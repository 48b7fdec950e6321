"""The paper presets are rl_games' published settings for IsaacGymEnvs' tasks."""

import pytest

from simulation import catalog
from tests.simulation.every_task import OF_THE_H1

# hidden layers, worlds, horizon, minibatch, epochs, iterations, learning rate, KL target, reward scale
PUBLISHED = {
    "Cartpole": ((32, 32), 512, 16, 8192, 8, 100, 3e-4, 0.008, 0.1),
    "BallBalance": ((128, 64, 32), 4096, 16, 8192, 8, 250, 3e-4, 0.008, 0.1),
    "Quadcopter": ((256, 256, 128), 8192, 8, 16384, 8, 500, 1e-3, 0.016, 0.1),
    "Ant": ((256, 128, 64), 4096, 16, 32768, 4, 500, 3e-4, 0.008, 0.01),
    "Humanoid": ((400, 200, 100), 4096, 32, 32768, 5, 1000, 5e-4, 0.008, 0.01),
    "Anymal": ((256, 128, 64), 4096, 24, 32768, 5, 1000, 3e-4, 0.008, 1.0),
    "FrankaCabinet": ((256, 128, 64), 4096, 16, 8192, 8, 1500, 5e-4, 0.008, 0.01),
    "AllegroHand": ((512, 256, 128), 16384, 8, 32768, 5, 5000, 5e-4, 0.016, 0.01),
    "ShadowHand": ((512, 512, 256, 128), 16384, 8, 32768, 5, 5000, 5e-4, 0.016, 0.01),
}


@pytest.mark.parametrize("task", PUBLISHED)
def test_settings(task):
    preset = catalog.get_preset(task, "paper")
    assert isinstance(preset, catalog.Preset)
    assert (
        *(preset.hidden, preset.worlds, preset.horizon, preset.worlds * preset.horizon // preset.minibatches),
        *(preset.epochs, preset.iterations, preset.learning_rate, preset.kl_target, preset.reward_scale),
    ) == PUBLISHED[task]
    shared = (preset.activation, preset.gamma, preset.gae_lambda, preset.clip, preset.bounds_weight, preset.initial_std)
    assert shared == ("elu", 0.99, 0.95, 0.2, 1e-4, 1.0)


WALKERS = {"Ant", "AntLieDown", "AntPatrolAndReturn", "Anymal", "Humanoid", "HumanoidJump", *OF_THE_H1}


@pytest.mark.parametrize("task", [name for name, info in catalog.list_tasks().items() if "paper-sac" in info.presets])
def test_rdas_numbers(task):
    """Worlds, steps, updates, discount: the last of the printed table's two columns is for what walks."""
    preset = catalog.get_preset(task, "paper-sac")
    assert isinstance(preset, catalog.SacPreset)
    found = (preset.worlds, preset.samples, preset.iterations * preset.updates, preset.gamma)
    printed = (16, 10_000_000, 625_000, 0.98) if task in WALKERS else (2048, 50_000_000, 250_000, 0.95)
    assert found == pytest.approx(printed, rel=2e-3)


# observations, actions, seconds a control step, steps of an episode
PRINTED = {
    "Cartpole": (4, 1, 1 / 60, 500),
    "BallBalance": (24, 3, 0.01, 500),
    "Quadcopter": (21, 12, 0.01, 500),
    "Anymal": (48, 12, 0.02, 2500),
    "Ant": (60, 8, 1 / 60, 1000),
    "Humanoid": (108, 21, 1 / 60, 1000),
    "FrankaCabinet": (23, 9, 1 / 60, 500),
    "AllegroHand": (88, 16, 1 / 30, 600),
    "ShadowHand": (211, 20, 1 / 60, 600),
}


@pytest.mark.parametrize("task", PRINTED)
def test_sizes_and_times(task):
    info = catalog.get_task(task)
    assert (info.num_obs, info.num_actions, info.control_dt, info.episode_steps) == PRINTED[task]
