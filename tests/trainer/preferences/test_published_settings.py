"""Every number that the authors' code has, and that ours has as it is there (docs/methods.md says what differs)."""

from simulation.catalog import list_tasks
from trainer.preferences import denoising, entropy, labels, learning, queries, reward_model, segments
from trainer.preferences.algorithms import METHODS, Preferences, count_unlabelled


def test_the_reward_model():
    assert (reward_model.MEMBERS, reward_model.HIDDEN, reward_model.SLOPE) == (3, (256, 256, 256), 0.01)
    assert (reward_model.LEARNING_RATE, reward_model.BATCH, reward_model.ENOUGH) == (3e-4, 128, 0.97)


def test_what_each_method_asks_and_learns():
    methods = METHODS.values()
    assert {one.name: (one.algorithm, one.selection, one.last_episodes) for one in methods} == {
        "prefppo": ("ppo", "disagreement", None),
        "pebble": ("sac", "disagreement", 100),
        "surf": ("sac", "disagreement", 100),
        "qpa": ("sac", "uniform", 10),
        "rime": ("sac", "disagreement", 100),
        "rl_vlm_f": ("sac", "uniform", 100),
    }
    assert {one.name: one.most_epochs for one in methods} == {name: 50 for name in METHODS} | {
        "prefppo": 100,
        "qpa": 200,
    }
    assert max(one.last_episodes or 0 for one in methods) == segments.EPISODES_KEPT
    assert queries.CANDIDATES == 10


def test_the_teacher_and_its_segments():
    usual = Preferences()
    assert (usual.segment, usual.truth, segments.RECENT) == (50, "reward", 10)
    assert (usual.beta, usual.gamma, usual.mistake, usual.skip, usual.equal) == (-1.0, 1.0, 0.0, 0.0, 0.0)


def test_exploration():
    assert (entropy.NEIGHBOUR, entropy.RESERVOIR) == (5, 16_384)
    assert 0.01 <= Preferences().unsupervised <= 0.02


def test_surf():
    surf = METHODS["surf"]
    assert (reward_model.CONFIDENCE, reward_model.RATIO, labels.CROPS) == (0.99, 4, (45 / 60, 55 / 60))
    assert {budget: count_unlabelled(surf, budget) for budget in (49, 100, 101, 1500)} == {
        49: 100,
        100: 100,
        101: 10,
        1500: 10,
    }
    assert {count_unlabelled(one, 49) for one in METHODS.values() if one is not surf} == {0}


def test_qpa():
    assert (METHODS["qpa"].crops, METHODS["qpa"].hybrid) == (20, 0.5)


def test_rime():
    rime = METHODS["rime"]
    assert (rime.denoised, rime.warm_start, rime.least_epochs, learning.WARM_STEPS) == (True, True, 15, 5)
    assert (denoising.ALPHA, denoising.BETA, denoising.BETA_PASSES) == (0.5, (3.0, 1.0), 60)
    assert 6.9 < denoising.UPPER < 6.91, "-ln(0.001)"


def test_a_hundred_episodes_fit_whatever_the_task():
    for task in list_tasks().values():
        steps = min(50, task.episode_steps)
        assert segments.count_places(steps, task.episode_steps) * steps >= 100 * task.episode_steps
