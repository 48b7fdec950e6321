import math

import pytest
import torch

from simulation import catalog
from simulation.environment import Environment
from tests.simulation.test_ant import wxyz


def placed(x: float, y: float = 0.0, phase: float = 0.0, yaw: float = 0.0, height: float = 0.6) -> Environment:
    """One ant here, on its way there (phase 0) or back (1)."""
    env = Environment("AntPatrolAndReturn", worlds=1)
    state = env.state_dict()
    state["physics"][0, 1:8] = torch.tensor([x, y, height, *wxyz("z", yaw)])
    state["variables"]["phase"][:] = phase
    state["variables"]["root_states"][:, 0:3] = torch.tensor([x, y, height])
    env.load_state_dict(state)
    return env


def seen(env: Environment) -> dict[str, torch.Tensor]:
    return {name: value[0] for name, value in env.attributes.items() if isinstance(value, torch.Tensor)}


def test_it_begins_at_the_start_facing_the_checkpoint():
    env = Environment("AntPatrolAndReturn", worlds=1)
    now = seen(env)
    assert now["targets"].tolist() == [4, 0, 0] and now["phase"].item() == 0
    assert now["root_states"][:2].tolist() == [0, 0]
    assert now["potentials"].item() == now["prev_potentials"].item() == pytest.approx(-240)
    assert env.obs_buf.shape == (1, catalog.get_task("AntPatrolAndReturn").num_obs) == (1, 62)
    assert env.obs_buf[0, 7:14].tolist() == pytest.approx([0, 0, 1, 1, 0, 4, 0], abs=1e-5)


@pytest.mark.parametrize(("x", "phase"), [(3.4, 0.0), (3.6, 1.0), (4.4, 1.0), (4.6, 0.0)])
def test_the_way_back_begins_within_half_a_metre_of_the_checkpoint(x, phase):
    env = placed(x)
    env.step(torch.zeros(1, 8))
    now = seen(env)
    assert now["phase"].item() == phase == env.obs_buf[0, 13].item()
    assert now["targets"].tolist() == ([0, 0, 0] if phase else [4, 0, 0])


def test_it_stays_on_its_way_back():
    env = placed(1.0, phase=1.0)
    env.step(torch.zeros(1, 8))
    assert seen(env)["phase"].item() == 1 and seen(env)["targets"].tolist() == [0, 0, 0]


def test_progress_never_jumps_when_the_target_changes():
    env = placed(3.49)
    state = env.state_dict()
    state["physics"][0, 1 + env.model.nq] = 1.8  # m/s ahead: 3 cm a step
    env.load_state_dict(state)
    env.step(torch.zeros(1, 8))
    now = seen(env)
    assert now["phase"].item() == 1
    assert (now["potentials"] - now["prev_potentials"]).item() == pytest.approx(-1.8, abs=0.05)
    assert now["potentials"].item() == pytest.approx(-3.52 * 60, abs=0.5)


def test_the_observation_on_the_way_back():
    # at (3, 4), 5 m from the start, facing +y: the start lies behind, to the left
    env = placed(3.0, 4.0, phase=1.0, yaw=90)
    env.step(torch.zeros(1, 8))
    assert env.obs_buf[0, 7:10].tolist() == pytest.approx([0, 0, 1], abs=0.02)
    assert env.obs_buf[0, 10:14].tolist() == pytest.approx([-0.8, 0.6, 5, 1], abs=0.02)


@pytest.mark.parametrize(
    ("x", "y", "phase", "success"), [(0.3, 0.3, 1, 1.0), (0.3, 0.3, 0, 0.0), (0.6, 0, 1, 0.0), (4, 0, 1, 0.0)]
)
def test_success_is_to_end_near_the_start_after_the_checkpoint(x, y, phase, success):
    env = placed(x, y, phase)
    state = env.state_dict()
    state["variables"]["progress_buf"][:] = 598
    env.load_state_dict(state)
    step = env.step(torch.zeros(1, 8))
    assert step.truncated.all() and step.metric_counts.all() and step.metric.item() == success


def test_a_fall_at_the_start_is_no_success():
    env = placed(0.0, phase=1.0, height=0.3)
    state = env.state_dict()
    state["physics"][0, 4:8] = torch.tensor(wxyz("x", 180))  # on its back, no leg lifts it
    env.load_state_dict(state)
    step = env.step(torch.zeros(1, 8))
    assert step.terminated.all() and step.metric_counts.all() and step.metric.item() == 0


def test_only_the_marker_of_the_place_to_go_to_moves():
    for x, phase in ((1.0, 0.0), (1.0, 1.0)):
        env = placed(x, phase=phase)
        env.step(torch.zeros(1, 8))
        assert env.mocap(0).tolist() == [[0 if phase else 4, 0, 1, 0, 0, 0, 1]]


def test_a_new_episode_begins_on_the_way_out():
    env = placed(1.0, phase=1.0)
    env.step(torch.zeros(1, 8))
    env.reset()
    now = seen(env)
    assert now["phase"].item() == 0 and now["targets"].tolist() == [4, 0, 0]
    assert now["potentials"].item() == now["prev_potentials"].item()


def test_reference_reward_by_hand():
    namespace: dict = {}
    exec(catalog.read_reference_reward("AntPatrolAndReturn"), namespace)  # our own file
    inputs = {
        "root_states": torch.tensor([[1.0, 0, 0.5] + [0.0] * 10]).repeat(2, 1),
        "targets": torch.tensor([[4.0, 0, 0], [0, 0, 0]]),
        "phase": torch.tensor([0.0, 1.0]),
        "potentials": torch.tensor([-178.0, -60.0]),
        "prev_potentials": torch.tensor([-180.0, -70.0]),
        "up_vec": torch.tensor([[0, 0, 1.0]]).repeat(2, 1),
        "heading_vec": torch.tensor([[1.0, 0, 0]]).repeat(2, 1),
        "dof_vel": torch.full((2, 8), 2.0),
        "actions": torch.full((2, 8), 0.5),
        "dof_vel_scale": 0.2,
    }
    total, parts = namespace["compute_reward"](**inputs)
    assert parts["progress"].tolist() == [4.0, 6.0]  # 10 m/s counts as 3
    assert parts["heading"].tolist() == pytest.approx([0.3 * 3 / 3.1, -0.3 / 1.1])
    assert parts["home"].tolist() == pytest.approx([0.0, 3 * math.exp(-2)])
    costs = -0.005 * 8 * 0.25 - 0.05 * 8 * 0.2
    assert total[0].item() == pytest.approx(4 + 0.9 / 3.1 + 0.4 + costs)
    inputs["root_states"][:, 2] = 0.3
    assert namespace["compute_reward"](**inputs)[0].tolist() == [-2.0, -2.0]
