import math
from collections.abc import Sequence

import mujoco
import numpy as np
import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.environment import Environment

TRAY_WEIGHT, BALL_WEIGHT = 15.41, 8.22
"""N: a disc of 0.5 m and 2 cm at 100 kg/m3, a ball of 0.1 m at 200 kg/m3, times 9.81."""
LEGS = torch.tensor([0.0, 2 * math.pi / 3, 4 * math.pi / 3])
AROUND = torch.stack((LEGS.cos(), LEGS.sin()), dim=-1)


def placed(position: Sequence[float], velocity: Sequence[float] = (0, 0, 0), worlds: int = 1) -> Environment:
    """Level tables, the ball's centre here."""
    env = Environment("BallBalance", worlds=worlds)
    state = env.state_dict()
    ball = 1 + 13, 1 + env.model.nq + 12
    for first, values in zip(ball, (position, velocity), strict=True):
        state["physics"][:, first : first + 3] = torch.tensor(values, dtype=torch.float64)
    env.load_state_dict(state)
    return env


def settle(env: Environment, actions: torch.Tensor, steps: int) -> None:
    for _ in range(steps):
        env.step(actions)


def test_dimensions_and_masses_are_the_published_ones():
    model = mujoco_models.build_physics_model("BallBalance")
    assert model.body("tray").mass[0] * 9.81 == pytest.approx(TRAY_WEIGHT, abs=0.01)
    assert model.body("ball").mass[0] * 9.81 == pytest.approx(BALL_WEIGHT, abs=0.01)
    assert model.qpos0[2] == pytest.approx(0.36 * math.sqrt(2) + 0.05, abs=1e-3)
    assert np.degrees(model.joint("knee_1").range) == pytest.approx([-70, 90])
    assert np.degrees(model.joint("hip_1").range) == pytest.approx([-45, 45])


def test_a_ball_at_rest_and_the_load_on_the_legs():
    env = placed((0, 0, 0.68))
    settle(env, torch.zeros(1, 3), 100)
    values = {name: value[0] for name, value in env.attributes.items()}
    assert values["ball_positions"].tolist() == pytest.approx([0, 0, 0.664], abs=2e-3)
    assert values["tray_positions"].tolist() == pytest.approx([0, 0, 0.558], abs=2e-3)
    each = -(TRAY_WEIGHT + BALL_WEIGHT) / 3
    assert values["sensor_forces"][:, 2].tolist() == pytest.approx([each] * 3, rel=1e-3)
    sideways = values["sensor_forces"].sum(0)[:2]
    assert sideways.abs().max() < 1e-3  # each leg is pushed inwards or outwards, and all of them together nowhere


def test_a_ball_above_one_leg_loads_that_leg():
    env = placed((*(0.35 * AROUND[1]).tolist(), 0.675))
    env.step(torch.zeros(1, 3))
    settle(env, torch.zeros(1, 3), 5)
    load = -env.attributes["sensor_forces"][0, :, 2]
    assert load.argmax() == 1 and load[1] > load[0] + 3 and load[1] > load[2] + 3


def test_a_ball_that_falls_on_the_tray_stays_on_it_instead_of_bouncing():
    env = placed((0.3, 0, 1.5), (0, 0, -5.0))
    speeds = []
    for _ in range(40):
        settle(env, torch.zeros(1, 3), 1)
        speeds.append(env.attributes["ball_linvels"][0, 2].item())
    assert min(speeds) < -6 and max(speeds) < 0.2


def test_the_observation_in_order():
    env = placed((0.1, 0.2, 1.5), (0.3, -0.4, -1.0))
    env.step(torch.tensor([[0.5, -0.5, 0.0]]))
    values, obs = {name: value[0] for name, value in env.attributes.items()}, env.obs_buf[0]
    assert torch.equal(obs[0:3], values["dof_positions"][1::2]) and torch.equal(
        obs[3:6], values["dof_velocities"][1::2]
    )
    assert obs[6:9].tolist() == pytest.approx([0.103, 0.196, 1.489], abs=1e-3)
    assert obs[9:12].tolist() == pytest.approx([0.3, -0.4, -1.0 - 0.0981], abs=1e-4)
    assert torch.equal(obs[12:15], values["sensor_forces"][:, 2] / 20)
    assert torch.equal(obs[15:24], values["sensor_torques"].flatten() / 20)


@pytest.mark.parametrize("leg", range(3))
def test_stretching_a_knee_lifts_the_tray_there_and_the_ball_rolls_away(leg):
    env = placed((0, 0, 0.668))
    action = torch.zeros(1, 3)
    action[0, leg] = 0.5
    settle(env, action, 3)  # 0.3 rad
    settle(env, torch.zeros(1, 3), 40)
    angles = env.attributes["dof_positions"][0]
    assert angles[2 * leg + 1].item() == pytest.approx(0.3, abs=0.01)
    ball = env.attributes["ball_linvels"][0, :2]
    assert torch.cosine_similarity(ball, -AROUND[leg], dim=0) > 0.99 and ball.norm() > 0.1


def test_a_full_action_moves_a_target_at_20_radians_per_second_within_its_range():
    for count, target in ((1, 0.2), (2, 0.4), (10, 0.4)):
        env = placed((0, 0, 3.0))
        settle(env, torch.ones(1, 3), count)
        assert env.state_dict()["variables"]["knee_targets"][0].tolist() == pytest.approx([target] * 3, abs=1e-5)
    settle(env, -torch.ones(1, 3), 20)
    assert env.state_dict()["variables"]["knee_targets"][0].tolist() == pytest.approx([-0.4] * 3, abs=1e-5)


def test_feet_stay_where_they_are_pinned_and_nothing_diverges_under_wild_actions():
    env = Environment("BallBalance", worlds=8, seed=3)
    generator = torch.Generator().manual_seed(0)
    data = mujoco.MjData(env.model)
    foot, held = np.array([0.254558, 0, -0.254558]), torch.zeros(8, 3)
    for step in range(150):
        held = torch.rand(8, 3, generator=generator) * 2 - 1 if step % 7 == 0 else held
        result = env.step(held)
        assert not result.diverged.any()
        assert env.obs_buf.isfinite().all()
        env.reset(result.terminated)
    for world in range(8):
        data.qpos[:] = env.qpos(world)
        mujoco.mj_kinematics(env.model, data)
        for leg in range(3):
            body = data.body(f"lower_leg_{leg}")
            at = body.xpos + body.xmat.reshape(3, 3) @ foot
            assert at == pytest.approx([*(0.4 * AROUND[leg]).tolist(), 0.02], abs=0.02)


def test_balls_begin_above_the_tray_flying_to_its_middle():
    env = Environment("BallBalance", worlds=500)
    position, velocity = env.attributes["ball_positions"], env.attributes["ball_linvels"]
    distance = position[:, :2].norm(dim=1)
    assert distance.max() <= 0.4 and distance.max() > 0.38 and distance.min() < 0.02
    assert 1.0 <= position[:, 2].min() < 1.05 and 1.95 < position[:, 2].max() <= 2.0
    assert torch.equal(velocity[:, 2], torch.full((500,), -5.0))
    inward = -(velocity[:, :2] * position[:, :2]).sum(1) / distance
    assert torch.allclose(inward, velocity[:, :2].norm(dim=1), atol=1e-4)
    assert (inward <= 5.0 * distance).all() and inward.max() > 1.7
    assert not env.attributes["dof_positions"].any()


@pytest.mark.parametrize(("height", "over"), [(0.2, False), (0.16, True)])
def test_a_ball_near_the_ground_ends_the_episode(height, over):
    step = placed((2.0, 0, height), (0, 0, -2.0)).step(torch.zeros(1, 3))  # it falls 2 cm
    assert step.terminated.item() is over
    assert step.metric_counts.item() is over and step.metric.item() == 1.0


@pytest.mark.slow
def test_a_controller_written_by_hand_keeps_every_ball_to_the_end():
    env = Environment("BallBalance", worlds=100, seed=1)
    for number in range(1, 500):
        ball = env.attributes["ball_positions"][:, :2], env.attributes["ball_linvels"][:, :2]
        wanted = ((0.6 * ball[0] + 0.35 * ball[1]) @ AROUND.t()).clamp(-0.5, 0.5)
        step = env.step((wanted - env.attributes["dof_positions"][:, 1::2]) / 0.2)
        assert not step.terminated.any(), number
    assert step.truncated.all() and step.metric.tolist() == [499.0] * 100
    assert env.attributes["ball_positions"][:, :2].norm(dim=1).max() < 0.05


def test_reference_reward_by_hand():
    namespace: dict = {}
    exec(catalog.read_reference_reward("BallBalance"), namespace)  # our own file
    positions, speeds = torch.tensor([[0.0, 0.0, 0.7], [0.3, 0.4, 0.7]]), torch.tensor([[0.0, 0, 0], [0, 0, -3.0]])
    total, parts = namespace["compute_reward"](ball_positions=positions, ball_linvels=speeds)
    assert total.tolist() == pytest.approx([1.0, 1 / 1.5 / 4])
    assert parts["position_reward"].tolist() == pytest.approx([1.0, 1 / 1.5])
