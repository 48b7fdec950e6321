import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from simulation import bodies, catalog, mujoco_models
from simulation.environment import Environment, Step
from simulation.tasks.ant.observations import compute_observations
from simulation.worlds import Worlds
from tests.simulation import observing


def observed(position: Sequence[float] = (0.0, 0.0, 0.44), **state: Sequence[float]) -> Worlds:
    """One ant's variables in this state."""
    return observing.compute_variables("Ant", position, ctrl=np.linspace(-1, 1, 8), **state)


def wxyz(axis: str, degrees: float) -> list[float]:
    half = math.radians(degrees) / 2
    return [math.cos(half)] + [math.sin(half) if a == axis else 0.0 for a in "xyz"]


def test_head_of_the_observation_standing_still():
    obs = observed(position=(0, 0, 0.5)).obs_buf[0]
    assert obs[:12].tolist() == pytest.approx([0.5] + [0] * 6 + [0, 0, 0, 1, 1], abs=1e-6)


def test_yaw_of_90_degrees_with_world_velocity_ahead():
    # facing +y and moving along +x means moving to the robot's right; the target lies 90 degrees to its right
    obs = observed(quat=wxyz("z", 90), linear=(2.0, 0.0, 0.5)).obs_buf[0]
    assert obs[1:4].tolist() == pytest.approx([0.0, -2.0, 0.5], abs=1e-5)
    yaw, roll, angle, up, heading = obs[7:12].tolist()
    assert (yaw, angle) == pytest.approx((math.pi / 2, -math.pi / 2), abs=1e-5)
    assert (roll, up, heading) == pytest.approx((0.0, 1.0, 0.0), abs=1e-5)


def test_tilted_torso():
    # nose down by 30 degrees about y: up leans ahead, the nose points down
    env = observed(quat=wxyz("y", 30))
    assert env.up_vec[0].tolist() == pytest.approx([0.5, 0.0, math.sqrt(0.75)], abs=1e-6)
    assert env.heading_vec[0].tolist() == pytest.approx([math.sqrt(0.75), 0.0, -0.5], abs=1e-6)
    assert env.obs_buf[0, 10:12].tolist() == pytest.approx([math.sqrt(0.75)] * 2, abs=1e-6)


def test_roll_to_the_side():
    obs = observed(quat=wxyz("x", -40)).obs_buf[0]
    assert obs[8].item() == pytest.approx(math.radians(-40), abs=1e-5)


def test_angular_velocity_is_in_the_world_in_root_states_and_in_the_body_in_the_observation():
    # MuJoCo's angular velocity is the body's: turning about the body's x while facing +y is turning about the world's y
    env = observed(quat=wxyz("z", 90), angular=(1.5, 0.0, 0.25))
    assert env.root_states[0, 10:13].tolist() == pytest.approx([0.0, 1.5, 0.25], abs=1e-5)
    assert env.obs_buf[0, 4:7].tolist() == pytest.approx([1.5, 0.0, 0.25], abs=1e-5)


def test_root_states_are_isaac_ordered_with_xyzw():
    env = observed((1.0, 2.0, 3.0), quat=wxyz("z", 60), linear=(4.0, 5.0, 6.0))
    assert env.root_states[0, :10].tolist() == pytest.approx([1, 2, 3, 0, 0, 0.5, math.sqrt(0.75), 4, 5, 6])


def test_joints_are_scaled_to_their_limits():
    degrees = (40, 30, -20, -100, 0, 0, 0, 0)
    env = observed(dof_pos=[math.radians(d) for d in degrees], dof_vel=(3.0, 0, 0, 0, 0, 0, 0, -1.0))
    assert env.obs_buf[0, 12:16].tolist() == pytest.approx([1.0, -1.0, -0.5, -1.0], abs=1e-5)
    assert env.obs_buf[0, 20:28].tolist() == pytest.approx([0.6, 0, 0, 0, 0, 0, 0, -0.2], abs=1e-6)
    assert env.dof_limits_lower.tolist() == pytest.approx(np.radians([-40, 30, -40, -100, -40, -100, -40, 30]))
    assert env.obs_buf[0, 52:60].tolist() == env.actions[0].tolist()


def test_potentials_rise_with_progress_over_dt():
    env = observed()
    assert env.potentials.item() == env.prev_potentials.item() == pytest.approx(-60000)
    env.root_states[0, :2] = torch.tensor([0.5, 0.0])
    compute_observations(env)
    assert (env.potentials - env.prev_potentials).item() == pytest.approx(30.0, abs=0.01)
    compute_observations(env)
    assert (env.potentials - env.prev_potentials).item() == 0.0


def test_feet_in_the_air_feel_nothing():
    assert observed(position=(0, 0, 1.5)).vec_sensor_tensor.abs().max() == 0


def test_feet_carry_the_robot_at_rest():
    env = Environment("Ant", worlds=1)
    for _ in range(150):
        env.step(torch.zeros(1, 8))
    weight = mujoco_models.build_physics_model("Ant").body_mass.sum() * 9.81
    feet = env.attributes["vec_sensor_tensor"][0].view(4, 6)
    assert feet[:, 2].sum().item() == pytest.approx(weight, rel=0.01)
    assert (feet[:, 2] > 0.15 * weight).all()
    assert torch.equal(env.obs_buf[0, 28:52], feet.flatten() * 0.1)


def test_contact_torque_is_about_the_centre():
    # 10 N ahead, touching 0.08 m below the centre: -0.8 Nm about y (r x F)
    sensors = torch.tensor([[10.0, 0, 0, 0, 0, 0, 1.0, 2.0, 0.0]])
    wrench = bodies.contact_wrenches(sensors, torch.tensor([[[1.0, 2.0, 0.08]]]))
    assert wrench[0].tolist() == pytest.approx([10, 0, 0, 0, -0.8, 0])


def test_starts_are_noisy_within_the_limits():
    env = Environment("Ant", worlds=300)
    dof_pos, dof_vel = env.attributes["dof_pos"], env.attributes["dof_vel"]
    lower, upper = env.attributes["dof_limits_lower"], env.attributes["dof_limits_upper"]
    assert ((dof_pos >= lower) & (dof_pos <= upper)).all()
    assert 0.19 < dof_pos[:, 0].abs().max() <= 0.2
    assert 0.09 < dof_vel.abs().max() <= 0.1
    assert torch.equal(env.attributes["potentials"], env.attributes["prev_potentials"])


def stepped(height: float, speed: float = 0.0, roll: float = 0.0, progress: int = 0) -> tuple[Environment, Step]:
    """One ant after a step without action from this state."""
    env = Environment("Ant", worlds=1)
    state = env.state_dict()
    state["physics"][0, 3:8] = torch.tensor([height, *wxyz("x", roll)])
    state["physics"][0, 1 + env.model.nq] = speed
    state["variables"]["progress_buf"][:] = progress
    env.load_state_dict(state)
    return env, env.step(torch.zeros(1, 8))


@pytest.mark.parametrize(("height", "terminated"), [(0.3, True), (0.32, False)])
def test_a_torso_below_31_centimetres_ends_the_episode(height, terminated):
    assert stepped(height, roll=180)[1].terminated.item() is terminated  # on its back, no leg lifts it


def test_metric_is_the_speed_ahead():
    env, step = stepped(height=1.0, speed=3.0)
    assert step.metric_counts.all()
    assert step.metric.item() == pytest.approx(3.0, abs=0.02)
    assert step.metric.item() == pytest.approx(env.qpos(0)[0] * 60, abs=0.01)


def test_a_standing_ant_is_truncated_at_the_last_step_and_not_terminated():
    env = Environment("Ant", worlds=1)
    state = env.state_dict()
    state["variables"]["progress_buf"][:] = 997
    env.load_state_dict(state)
    assert not env.step(torch.zeros(1, 8)).truncated.any()
    step = env.step(torch.zeros(1, 8))
    assert step.truncated.all() and not step.terminated.any()


def test_falling_in_the_last_step_is_termination():
    _, step = stepped(height=0.29, roll=180, progress=998)
    assert step.terminated.all() and not step.truncated.any()


def test_reference_reward_by_hand():
    namespace: dict = {}
    exec(catalog.read_reference_reward("Ant"), namespace)  # our own file
    env = observed(quat=wxyz("z", 60))
    inputs = {name: getattr(env, name) for name in catalog.get_task("Ant").inputs}
    upper, middle = inputs["dof_limits_upper"], (inputs["dof_limits_lower"] + inputs["dof_limits_upper"]) / 2
    inputs |= {
        "potentials": torch.tensor([-59997.0]),
        "prev_potentials": torch.tensor([-60000.0]),
        "actions": torch.full((1, 8), 0.5),
        "dof_vel": torch.full((1, 8), 2.0),
        "dof_pos": torch.cat((upper[:1], middle[1:]))[None],
    }
    used = namespace["compute_reward"].__code__.co_varnames[: namespace["compute_reward"].__code__.co_argcount]
    total, parts = namespace["compute_reward"](**{name: inputs[name] for name in used})
    assert {name: round(value.item(), 4) for name, value in parts.items()} == {
        "progress": 3.0,
        "alive": 0.5,
        "up": 0.1,
        "heading": 0.3125,  # cos 60 degrees / 0.8 / 2
        "action_cost": -0.01,
        "energy_cost": -0.08,
        "limit_cost": -0.1,  # hip_1 alone is at its limit
    }
    assert total.item() == pytest.approx(3.7225, abs=1e-4)
    fallen = inputs["root_states"].clone()
    fallen[:, 2] = 0.3
    assert (
        namespace["compute_reward"](**{name: (inputs | {"root_states": fallen})[name] for name in used})[0].item()
        == -2.0
    )
