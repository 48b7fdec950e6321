import copy

import pytest
import torch

from simulation.environment import Environment, Step


def actions_for(env: Environment, step: int) -> torch.Tensor:
    """The same random actions for every group."""
    generator = torch.Generator().manual_seed(1000 + step)
    one = torch.rand(env.worlds, env.info.num_actions, generator=generator) * 2.4 - 1.2
    return one.repeat(env.groups, 1)


def advance(env: Environment, first: int, last: int) -> list[Step]:
    steps = []
    for step in range(first, last):
        steps.append(env.step(actions_for(env, step)))
        env.reset(steps[-1].terminated | steps[-1].truncated)
    return steps


def assert_same(a: dict[str, torch.Tensor | float], b: dict[str, torch.Tensor | float]) -> None:
    assert a.keys() == b.keys()
    for name, value in a.items():
        assert torch.equal(value, b[name]) if isinstance(value, torch.Tensor) else value == b[name], name


def hurt(env: Environment, world: int) -> None:
    """Make one world's physics fail at the next step, as an explosion would."""
    state = env.state_dict()
    state["physics"][world, 1 + env.model.nq] = float("nan")
    env.load_state_dict(state)


TASKS = ["Cartpole", "Ant", "BallBalance", "AntPatrolAndReturn"]


def test_inputs_are_the_rows_of_their_group():
    env = Environment("Ant", worlds=2, groups=3)
    env.step(torch.rand(6, 8, generator=torch.Generator().manual_seed(0)))
    for group in range(3):
        assert torch.equal(env.inputs(group)["root_states"], env.attributes["root_states"][2 * group : 2 * group + 2])
        assert torch.equal(env.inputs(group)["dof_limits_upper"], env.attributes["dof_limits_upper"])


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("worlds", [5, 16])
def test_three_groups_equal_three_environments_bit_for_bit(task, worlds):
    together = Environment(task, worlds, groups=3, seed=7)
    alone = [Environment(task, worlds, groups=1, seed=7) for _ in range(3)]
    for step in range(60):
        # each group acts differently, so that different worlds reset in each
        actions = torch.cat([actions_for(env, 100 * group + step) for group, env in enumerate(alone)])
        whole = together.step(actions)
        ended = whole.terminated | whole.truncated
        for group, env in enumerate(alone):
            rows = slice(group * worlds, (group + 1) * worlds)
            part = env.step(actions[rows])
            for name, value in vars(part).items():
                assert torch.equal(value, getattr(whole, name)[rows]), (step, name)
            assert_same(env.attributes, together.inputs(group))
            env.reset(part.terminated | part.truncated)
        together.reset(ended)
        for group, env in enumerate(alone):
            assert torch.equal(env.obs_buf, together.obs_buf[group * worlds : (group + 1) * worlds])


def test_groups_see_the_same_noise_whichever_worlds_reset():
    env = Environment("Cartpole", worlds=4, groups=2, seed=1)
    env.step(torch.zeros(8, 1))
    env.reset(torch.tensor([True, False, False, False, False, False, True, True]))
    env.step(torch.zeros(8, 1))
    env.reset()
    assert torch.equal(env.inputs(0)["obs_buf"], env.inputs(1)["obs_buf"])


def test_every_step_brings_new_noise_the_same_for_all_groups():
    env, drawn = Environment("Cartpole", worlds=4, groups=2, seed=1), []
    for _ in range(3):
        env.step(torch.zeros(8, 1))
        env.reset(torch.tensor([True] + [False] * 7))
        noise = env.state_dict()["variables"]["noise"]
        assert torch.equal(noise[:4], noise[4:])
        drawn.append(noise)
    assert not torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[1], drawn[2])
    env.keep([1])
    assert torch.equal(env.state_dict()["variables"]["noise"], noise[:4])


def test_seeds_differ_and_repeat():
    a, b, c = (Environment("Cartpole", worlds=4, seed=seed).obs_buf for seed in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_reset_touches_only_its_mask():
    env = Environment("Ant", worlds=4)
    advance(env, 0, 5)
    before, state = copy.copy(env.attributes), env.state_dict()["physics"]
    env.reset(torch.tensor([False, True, False, False]))
    kept = [0, 2, 3]
    assert torch.equal(env.state_dict()["physics"][kept], state[kept])
    for name in ("root_states", "dof_pos", "potentials", "prev_potentials", "vec_sensor_tensor"):
        assert torch.equal(env.attributes[name][kept], before[name][kept]), name
    assert not torch.equal(env.attributes["dof_pos"][1], before["dof_pos"][1])


def test_what_was_handed_out_is_never_written():
    env = Environment("Ant", worlds=4)
    advance(env, 0, 3)
    held = env.attributes | {"obs": env.obs_buf}
    copies = {name: value.clone() for name, value in held.items() if isinstance(value, torch.Tensor)}
    env.reset()
    advance(env, 3, 6)
    for name, value in copies.items():
        assert torch.equal(held[name], value), name


def test_actions_are_clipped():
    wild, tame = Environment("Ant", worlds=2), Environment("Ant", worlds=2)
    wild.step(torch.full((2, 8), 50.0))
    tame.step(torch.ones(2, 8))
    assert_same(wild.attributes, tame.attributes)
    assert wild.attributes["actions"].max() == 1.0


@pytest.mark.parametrize("task", [*TASKS, "Anymal", "FrankaCabinet", "ShadowHand"])
def test_a_diverged_world_is_ended_counted_and_finite_and_others_do_not_notice(task):
    healthy, sick = (Environment(task, worlds=4, groups=2, seed=3) for _ in range(2))
    for env in (healthy, sick):
        for step in range(4):
            env.step(actions_for(env, step))
    started = sick.state_dict()["variables"]["start_qpos"][5]
    hurt(sick, world=5)
    good, bad = healthy.step(actions_for(healthy, 9)), sick.step(actions_for(sick, 9))
    others = [0, 1, 2, 3, 4, 6, 7]
    assert bad.diverged.tolist() == [False] * 5 + [True] + [False] * 2
    assert bad.terminated[5] and not bad.truncated[5] and not bad.metric_counts[5]
    assert not good.diverged.any()
    assert torch.equal(torch.from_numpy(sick.qpos(5)).float(), started), "it stands where its episode began"
    assert torch.isfinite(sick.obs_buf).all() and torch.isfinite(bad.metric).all()
    for name, value in sick.attributes.items():
        if isinstance(value, torch.Tensor) and value.shape[0] == 8:
            assert torch.isfinite(value).all(), name
            assert torch.equal(value[others], healthy.attributes[name][others]), name
    for env in (healthy, sick):
        env.reset(bad.terminated)
        env.step(actions_for(env, 10))
    assert torch.equal(sick.state_dict()["physics"][others], healthy.state_dict()["physics"][others])


def test_actions_that_are_not_numbers_end_their_world_only():
    env = Environment("Ant", worlds=3)
    actions = torch.zeros(3, 8)
    actions[1, 4] = float("nan")
    actions[2, 4] = float("inf")  # an infinite wish is clipped like any other
    step = env.step(actions)
    assert step.diverged.tolist() == [False, True, False]
    assert torch.isfinite(env.obs_buf).all()


@pytest.mark.parametrize("task", TASKS)
def test_a_saved_environment_continues_exactly(task, tmp_path):
    env = Environment(task, worlds=4, groups=2, seed=5)
    advance(env, 0, 40)
    torch.save(env.state_dict(), tmp_path / "env.pt")
    expected = advance(env, 40, 80)
    other = Environment(task, worlds=4, groups=2, seed=99)
    other.load_state_dict(torch.load(tmp_path / "env.pt", weights_only=True))
    for a, b in zip(expected, advance(other, 40, 80), strict=True):
        assert all(torch.equal(value, getattr(b, name)) for name, value in vars(a).items())
    assert_same(env.attributes, other.attributes)
    assert torch.equal(env.state_dict()["physics"], other.state_dict()["physics"])


def test_loading_another_task_is_refused():
    with pytest.raises(ValueError, match="4 worlds a group of Cartpole, this environment 4 of Ant"):
        Environment("Ant", worlds=4).load_state_dict(Environment("Cartpole", worlds=4).state_dict())


@pytest.mark.parametrize("task", TASKS)
def test_kept_groups_go_on_as_if_they_had_been_alone(task):
    env, reference = (Environment(task, worlds=4, groups=3, seed=2) for _ in range(2))
    for e in (env, reference):
        advance(e, 0, 20)
    env.keep([0, 2])
    assert (env.groups, env.num_envs, env.obs_buf.shape[0]) == (2, 8, 8)
    for kept, original in ((0, 0), (1, 2)):
        assert_same(env.inputs(kept), reference.inputs(original))
    for e in (env, reference):
        advance(e, 20, 60)
    for kept, original in ((0, 0), (1, 2)):
        assert_same(env.inputs(kept), reference.inputs(original))
    reference.load_state_dict(env.state_dict())
    assert reference.groups == 2


def test_unknown_task_names_the_known_ones():
    with pytest.raises(ValueError, match="unknown task 'Antelope'; known: .*Ant"):
        Environment("Antelope", worlds=1)
