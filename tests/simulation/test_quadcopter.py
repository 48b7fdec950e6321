import math
from collections.abc import Sequence

import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.environment import Environment

WEIGHT = 0.25154 * 9.81
ANGLES = torch.tensor([math.radians(45 + 90 * rotor) for rotor in range(4)])


def placed(
    position: Sequence[float] = (0, 0, 1),
    quat: Sequence[float] = (1, 0, 0, 0),
    linear: Sequence[float] = (0, 0, 0),
    angular: Sequence[float] = (0, 0, 0),
    gimbals: Sequence[float] = (0,) * 8,
    thrust: float = 0.0,
) -> Environment:
    """One quadcopter in this state of MuJoCo's: quaternion wxyz, angular velocity in the body's frame."""
    env = Environment("Quadcopter", worlds=1)
    state = env.state_dict()
    qpos = torch.tensor([*position, *quat, *gimbals], dtype=torch.float64)
    state["physics"][0, 1:16] = qpos
    state["physics"][0, 16:30] = torch.tensor([*linear, *angular, *(0,) * 8], dtype=torch.float64)
    state["variables"]["gimbal_targets"][:] = qpos[7:].float()
    state["variables"]["thrusts"][:] = thrust
    env.load_state_dict(state)
    return env


def still(env: Environment, steps: int = 1) -> Environment:
    for _ in range(steps):
        env.step(torch.zeros(1, 12))
    return env


def vectors(env: Environment) -> dict[str, list[float]]:
    return {name: value[0].tolist() for name, value in env.attributes.items()}


def test_mass_and_reach_are_the_published_ones():
    model = mujoco_models.build_physics_model("Quadcopter")
    assert model.body_mass.sum() * 9.81 == pytest.approx(WEIGHT, rel=1e-4)
    assert model.opt.gravity.tolist() == [0, 0, -9.81]
    for gimbal in ("pitch_0", "roll_3"):
        assert model.joint(gimbal).range.tolist() == pytest.approx([-math.pi / 6, math.pi / 6])


def test_a_thrust_of_its_weight_keeps_it_in_the_air():
    seen = vectors(still(placed(thrust=WEIGHT / 4), 200))
    assert seen["root_positions"] == pytest.approx([0, 0, 1], abs=1e-3)
    assert seen["root_quats"] == pytest.approx([0, 0, 0, 1], abs=1e-4)
    assert seen["thrusts"] == pytest.approx([0.6169] * 4, abs=1e-4)


def test_there_is_no_drag_at_the_speed_of_flight():
    env = Environment("Quadcopter", worlds=1)
    state = env.state_dict()
    state["physics"][0, 1 + env.model.nq] = 2.0  # m/s along x
    env.load_state_dict(state)
    for _ in range(20):
        env.step(torch.zeros(1, 12))
    assert env.attributes["root_linvels"][0, 0].item() == pytest.approx(2.0, abs=2e-3)


def test_without_thrust_it_falls():
    seen = vectors(still(placed((0, 0, 2.0)), 30))
    assert seen["root_linvels"] == pytest.approx([0, 0, -9.81 * 0.3], abs=0.1)


@pytest.mark.parametrize("rotor", range(4))
def test_a_rotor_that_pushes_more_lifts_its_side(rotor):
    env = placed(thrust=WEIGHT / 4)
    action = torch.zeros(1, 12)
    action[0, 8 + rotor] = 0.1  # 0.2 N more
    env.step(action)
    still(env, 5)
    x, y, z = vectors(env)["root_angvels"]
    outward = ANGLES[rotor].cos().item(), ANGLES[rotor].sin().item()
    # the side goes up: it turns about the axis square to the arm, and not about z
    assert x * outward[1] - y * outward[0] > 0.1 and abs(z) < 1e-3
    assert vectors(env)["root_linvels"][2] > 0.02


@pytest.mark.parametrize("rotor", range(4))
def test_thrust_follows_the_rotor_when_its_gimbal_turns(rotor):
    gimbals = [0.0] * 8
    gimbals[2 * rotor + 1] = 0.4
    env = still(placed(gimbals=gimbals, thrust=WEIGHT / 4), 5)
    x, y, _ = vectors(env)["root_linvels"]
    # a positive roll, about the arm, leans the rotor's axis clockwise around the chassis
    aside = ANGLES[rotor].sin().item(), -ANGLES[rotor].cos().item()
    assert x * aside[0] + y * aside[1] == pytest.approx(0.6169 * math.sin(0.4) / 0.2515 * 0.05, rel=0.15)
    assert vectors(env)["root_angvels"][2] < -0.1


def test_actions_move_targets_at_8_pi_and_thrusts_at_200_per_second():
    env = placed()
    action = torch.zeros(1, 12)
    action[0, 0], action[0, 1], action[0, 8:12] = 1.0, -0.5, torch.tensor([0.25, 1.0, -1.0, 0.6])
    env.step(action)
    targets = env.state_dict()["variables"]["gimbal_targets"][0]
    assert targets[:3].tolist() == pytest.approx([0.2513, -0.1257, 0.0], abs=1e-4)
    assert env.attributes["thrusts"][0].tolist() == pytest.approx([0.5, 2.0, 0.0, 1.2])
    for _ in range(5):
        env.step(action)
    assert env.state_dict()["variables"]["gimbal_targets"][0, :2].tolist() == pytest.approx([math.pi / 6, -math.pi / 6])
    assert env.attributes["thrusts"][0].tolist() == pytest.approx([2.0, 2.0, 0.0, 2.0])
    assert env.attributes["dof_positions"][0, :2].tolist() == pytest.approx([math.pi / 6, -math.pi / 6], abs=0.03)


def test_the_observation_by_hand():
    half = math.radians(90) / 2
    env = placed(
        (0.3, -0.6, 1.9), (math.cos(half), 0, 0, math.sin(half)), (0.5, 0, 0), (1.0, 0, 0), [0.1] * 8, WEIGHT / 4
    )
    obs = env.step(torch.zeros(1, 12)) and env.obs_buf[0].tolist()
    seen = vectors(env)
    assert obs[0:3] == pytest.approx([-0.1, 0.2, -0.3], abs=3e-3)
    assert obs[3:7] == seen["root_quats"] == pytest.approx([0, 0, math.sin(half), math.cos(half)], abs=0.01)
    assert obs[7:10] == pytest.approx([0.25, 0, 0], abs=0.01)
    # turning about its own x while it faces y is turning about the world's y
    assert obs[10:13] == pytest.approx([0, 1 / math.pi, 0], abs=0.06)
    assert obs[13:21] == seen["dof_positions"] == pytest.approx([0.1] * 8, abs=0.01)
    assert len(obs) == 21


def test_starts_are_around_the_target():
    env = Environment("Quadcopter", worlds=500)
    seen = env.attributes
    position = seen["root_positions"]
    assert (position[:, :2].abs().max() <= 1.5) and position[:, :2].abs().max() > 1.45
    assert 0.8 <= position[:, 2].min() < 0.83 and 2.47 < position[:, 2].max() <= 2.5
    assert 0.19 < seen["dof_positions"].abs().max() <= 0.2
    assert not seen["root_linvels"].any() and not seen["root_angvels"].any() and not seen["thrusts"].any()
    assert torch.equal(env.state_dict()["variables"]["gimbal_targets"], seen["dof_positions"])


@pytest.mark.parametrize(
    ("position", "over"),
    [((0, 0, 0.31), False), ((0, 0, 0.29), True), ((2.9, 0, 1), False), ((0, -3.1, 1), True), ((2, 2, 2.2), True)],
)
def test_too_far_or_too_low_ends_the_episode(position, over):
    step = placed(position).step(torch.zeros(1, 12))
    assert step.terminated.item() is over and step.metric_counts.item() is over
    assert step.metric.item() == pytest.approx(-math.dist(position, (0, 0, 1)), abs=0.01)


def test_a_full_spin_is_limited_and_random_actions_never_diverge():
    env = Environment("Quadcopter", worlds=16, seed=1)
    generator = torch.Generator().manual_seed(0)
    held = (torch.rand(16, 12, generator=generator) * 2 - 1).sign()
    for _ in range(250):
        step = env.step(held)  # nothing is reset: it tumbles on
        assert not step.diverged.any()
    assert env.attributes["root_angvels"].norm(dim=1).max() < 20
    assert env.obs_buf.isfinite().all()


@pytest.mark.slow
def test_a_controller_written_by_hand_flies_to_the_target_and_hovers():
    env = placed((1.0, -0.7, 1.8))
    for number in range(1, 500):
        seen = env.attributes
        error, velocity = torch.tensor([[0, 0, 1.0]]) - seen["root_positions"], seen["root_linvels"]
        push = 1.2 * (error - velocity)
        lean = (push[:, :2] / 9.81).clamp(-0.3, 0.3)
        quat, spin = seen["root_quats"], seen["root_angvels"]
        about_x = 0.6 * (-lean[:, 1] - 2 * quat[:, 0]) - 0.12 * spin[:, 0]
        about_y = 0.6 * (lean[:, 0] - 2 * quat[:, 1]) - 0.12 * spin[:, 1]
        lift = (WEIGHT * (1 + 0.4 * push[:, 2])).clamp(0.2, 6.0) / 4
        thrust = lift[:, None] + about_x[:, None] * ANGLES.sin() - about_y[:, None] * ANGLES.cos()
        action = torch.cat((-seen["dof_positions"], (thrust - seen["thrusts"]) / 2), dim=1)
        step = env.step(action)
        assert not step.terminated.any(), number
    assert step.truncated.all() and step.metric_counts.all() and step.metric.item() > -0.1


@pytest.mark.slow
def test_the_observation_alone_suffices_to_hover_within_two_centimetres():
    """It has no thrusts, which actions only change: they are switched by the velocities that are still wanted."""
    env = Environment("Quadcopter", worlds=16, seed=3)
    for _ in range(499):
        seen = env.obs_buf
        error, quat, velocity, spin = 3 * seen[:, :3], seen[:, 3:7], 2 * seen[:, 7:10], math.pi * seen[:, 10:13]
        lean = ((1.5 * error - 1.6 * velocity)[:, :2] / 9.81).clamp(-0.3, 0.3)
        climb = (2 * error[:, 2]).clamp(-1.5, 1.5) - velocity[:, 2]
        about_x = 6 * (-lean[:, 1] - 2 * quat[:, 0]) - spin[:, 0]
        about_y = 6 * (lean[:, 0] - 2 * quat[:, 1]) - spin[:, 1]
        thrust = climb[:, None] + 0.12 * (about_x[:, None] * ANGLES.sin() - about_y[:, None] * ANGLES.cos())
        gimbals = torch.zeros(16, 8)
        gimbals[:, 1::2] = (0.15 * (spin[:, 2] + 4 * quat[:, 2])).clamp(-0.2, 0.2)[:, None]  # against turning about z
        step = env.step(torch.cat((2 * (gimbals - seen[:, 13:21]), thrust), dim=1))
        assert not step.terminated.any()
    assert step.truncated.all() and step.metric.min() > -0.02


def test_reference_reward_by_hand():
    namespace: dict = {}
    exec(catalog.read_reference_reward("Quadcopter"), namespace)  # our own file
    half = math.radians(60) / 2
    total, parts = namespace["compute_reward"](
        root_positions=torch.tensor([[0, 0, 1.0], [0.6, 0.8, 1.0]]),
        root_quats=torch.tensor([[0, 0, 0, 1.0], [math.sin(half), 0, 0, math.cos(half)]]),
        root_angvels=torch.tensor([[0, 0, 0], [5.0, 0, -2.0]]),
    )
    assert parts["position"].tolist() == pytest.approx([1.0, 0.5])
    assert parts["upright"].tolist() == pytest.approx([1.0, 0.5 / 1.25])  # cos 60 degrees is half way from upright
    assert parts["calm"].tolist() == pytest.approx([1.0, 0.5 / 5])
    assert total.tolist() == pytest.approx([3.0, 0.5 + 0.4 + 0.1])
