import math

import pytest
import torch

from simulation import catalog
from simulation.environment import Environment
from simulation.mujoco_models import build_physics_model


def placed(cart: float, angle: float, cart_velocity: float = 0.0, pole_velocity: float = 0.0) -> Environment:
    """One cartpole in this state, not yet stepped."""
    env = Environment("Cartpole", worlds=1)
    state = env.state_dict()
    state["physics"][0, 1:5] = torch.tensor([cart, angle, cart_velocity, pole_velocity], dtype=torch.float64)
    env.load_state_dict(state)
    return env


def test_observation_is_cart_then_pole_position_before_velocity():
    env = placed(0.5, 0.1, cart_velocity=1.0, pole_velocity=-2.0)
    env.step(torch.zeros(1, 1))
    (cart, angle), (cart_velocity, pole_velocity) = env.attributes["dof_pos"][0], env.attributes["dof_vel"][0]
    assert env.obs_buf[0].tolist() == [cart, cart_velocity, angle, pole_velocity]
    assert cart.item() == pytest.approx(0.5 + 1 / 60, abs=2e-3)
    assert angle.item() == pytest.approx(0.1 - 2 / 60, abs=2e-3)


def test_a_full_push_is_400_newton():
    # upright and at rest, a force F on the cart (mass 1) with a pole (1 kg, centre at l = 0.5, inertia I about it):
    # x'' = F (I + m l^2) / ((M + m)(I + m l^2) - m^2 l^2)
    env = placed(0.0, 0.0)
    env.step(torch.ones(1, 1))
    inertia = build_physics_model("Cartpole").body("pole").inertia.max()
    acceleration = 400 * (inertia + 0.25) / (2 * (inertia + 0.25) - 0.25)
    assert env.attributes["dof_vel"][0, 0].item() == pytest.approx(acceleration / 60, rel=0.05)


def test_an_upright_pole_falls_without_control():
    env = placed(0.0, 0.01)
    for _ in range(120):
        step = env.step(torch.zeros(1, 1))
        if step.terminated:
            break
    assert step.terminated and env.attributes["dof_pos"][0, 1] > math.pi / 2
    assert step.metric_counts and 20 < step.metric < 120
    assert step.metric == env.state_dict()["variables"]["progress_buf"][0]


@pytest.mark.parametrize(
    ("cart", "angle", "over"),
    [(2.9, 0.0, False), (3.1, 0.0, True), (-3.1, 0.0, True), (0, 1.5, False), (0, -1.7, True)],
)
def test_bounds(cart, angle, over):
    assert placed(cart, angle).step(torch.zeros(1, 1)).terminated.item() is over


def test_starts_are_near_upright_and_differ():
    env = Environment("Cartpole", worlds=200)
    dof_pos, dof_vel = env.attributes["dof_pos"], env.attributes["dof_vel"]
    assert 0.08 < dof_pos.abs().max() <= 0.1
    assert 0.2 < dof_vel.abs().max() <= 0.25
    assert len(dof_pos.unique()) > 390


def test_balanced_to_the_end_is_truncated_with_the_full_duration():
    env = Environment("Cartpole", worlds=2)
    gains = torch.tensor([0.02, 0.03, 0.6, 0.12])  # a linear controller found by hand
    for number in range(1, 500):
        step = env.step((env.obs_buf @ gains)[:, None])
        assert not step.terminated.any(), number
        assert step.truncated.all() == (number == 499)
        assert step.metric_counts.all() == (number == 499)
    assert step.metric.tolist() == [499.0, 499.0]
    env.reset(step.truncated)
    assert not env.step(torch.zeros(2, 1)).truncated.any()


def test_reference_reward_by_hand():
    namespace: dict = {}
    exec(catalog.read_reference_reward("Cartpole"), namespace)  # our own file
    total, parts = namespace["compute_reward"](
        dof_pos=torch.tensor([[1.0, 0.5], [3.5, 0.0]]), dof_vel=torch.tensor([[-2.0, 4.0], [0.0, 0.0]])
    )
    assert total.tolist() == pytest.approx([1 - 0.25 - 0.02 - 0.02, -2.0])
    assert parts["upright"].tolist() == pytest.approx([0.75, 1.0])
