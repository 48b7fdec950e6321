import math

import pytest
import torch

from simulation import catalog
from simulation.environment import Environment, Step
from tests.simulation.test_ant import wxyz


def placed(roll: float, height: float = 0.3, progress: int = 0) -> Environment:
    """One ant, rolled about x by `roll` degrees."""
    env = Environment("AntLieDown", worlds=1)
    state = env.state_dict()
    state["physics"][0, 3:8] = torch.tensor([height, *wxyz("x", roll)])
    state["variables"]["progress_buf"][:] = progress
    env.load_state_dict(state)
    return env


def last_step(roll: float) -> Step:
    return placed(roll, progress=598).step(torch.zeros(1, 8))


def test_the_observation_of_an_ant_on_its_back():
    env = placed(180)
    env.step(torch.zeros(1, 8))
    obs, up = env.obs_buf[0], env.attributes["up_vec"][0]
    assert up.tolist() == pytest.approx([0, 0, -1], abs=0.02)
    assert obs[0].item() == env.attributes["root_states"][0, 2].item() == pytest.approx(0.3, abs=0.01)
    assert obs[7:10].tolist() == pytest.approx([0, 0, -1], abs=0.02)
    assert len(obs) == catalog.get_task("AntLieDown").num_obs == 58


def test_the_way_up_is_along_the_torsos_own_axes():
    # on its right side (rolled by 90 degrees about x), up is along its own y
    env = placed(90, height=1.0)
    env.step(torch.zeros(1, 8))
    assert env.obs_buf[0, 7:10].tolist() == pytest.approx([0, 1, 0], abs=0.05)
    assert env.attributes["up_vec"][0].tolist() == pytest.approx([0, -1, 0], abs=0.05)


def test_joints_feet_and_actions_follow():
    env = Environment("AntLieDown", worlds=1)
    for _ in range(60):
        env.step(torch.full((1, 8), 0.1))
    seen, obs = env.attributes, env.obs_buf[0]
    lower, upper = seen["dof_limits_lower"], seen["dof_limits_upper"]
    scaled = 2 * (seen["dof_pos"][0] - lower) / (upper - lower) - 1
    assert obs[10:18].tolist() == pytest.approx(scaled.tolist(), abs=1e-5)
    assert obs[18:26].tolist() == pytest.approx((0.2 * seen["dof_vel"][0]).tolist(), abs=1e-6)
    assert obs[26:50].tolist() == pytest.approx((0.1 * seen["vec_sensor_tensor"][0]).tolist(), abs=1e-5)
    assert seen["vec_sensor_tensor"][0].abs().sum() > 1 and (obs[50:58] == 0.1).all()


@pytest.mark.parametrize(("degrees", "success"), [(0, 0.0), (150, 0.0), (160, 1.0), (180, 1.0), (-170, 1.0)])
def test_success_is_to_end_within_26_degrees_of_belly_up(degrees, success):
    step = last_step(degrees)
    assert step.truncated.all() and step.metric_counts.all()
    assert step.metric.item() == success
    assert (-math.cos(math.radians(degrees)) > 0.9) is bool(success)


def test_lying_ends_no_episode_and_counts_at_its_end_only():
    env = placed(180)
    for _ in range(30):
        step = env.step(torch.zeros(1, 8))
        assert not step.terminated.any() and not step.metric_counts.any()
    assert step.metric.item() == 1.0


def test_it_stays_on_its_back_without_a_motor():
    env = placed(165, height=0.3)
    for _ in range(240):
        env.step(torch.zeros(1, 8))
    assert env.attributes["up_vec"][0, 2] < -0.9
    assert env.attributes["root_states"][0, 7:13].abs().max() < 0.1


def test_every_start_is_on_its_feet():
    env = Environment("AntLieDown", worlds=50)
    assert (env.attributes["up_vec"][:, 2] == 1).all()
    assert env.attributes["dof_pos"].std(dim=0).min() > 0


def test_reference_reward_by_hand():
    namespace: dict = {}
    exec(catalog.read_reference_reward("AntLieDown"), namespace)  # our own file
    states = torch.zeros(3, 13)
    states[2, 7] = 2.0
    total, parts = namespace["compute_reward"](
        root_states=states,
        up_vec=torch.tensor([[0, 0, 1.0], [0, 0, -1.0], [0, 0, -1.0]]),
        dof_vel=torch.full((3, 8), 5.0),
        actions=torch.full((3, 8), 0.5),
    )
    assert parts["turned"].tolist() == [-1.0, 1.0, 1.0]
    assert parts["rest"].tolist() == pytest.approx([0.0, 1.0, math.exp(-2.0)])
    assert parts["joint_cost"].tolist() == pytest.approx([0.0, -0.1, -0.1])
    assert total.tolist() == pytest.approx([-1.02, 1 + 1 - 0.1 - 0.02, 1 + math.exp(-2.0) - 0.12])
