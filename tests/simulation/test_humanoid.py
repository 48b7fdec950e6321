import math
from collections.abc import Sequence

import mujoco
import numpy as np
import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.environment import Environment, Step
from simulation.tasks.humanoid.info import DOF_NAMES
from simulation.worlds import Worlds
from tests.simulation import observing
from tests.simulation.observing import UPRIGHT

STANDING = 1.285
"""Height of the torso's centre when the feet just touch the ground."""


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco_models.build_physics_model("Humanoid")


def observed(position: Sequence[float] = (0.0, 0.0, 1.33), **state: Sequence[float]) -> Worlds:
    """One humanoid's variables in this state."""
    return observing.compute_variables("Humanoid", position, **state)


def test_the_hinges_are_the_21_of_the_specification_in_order(model):
    assert (
        *("abdomen_y", "abdomen_z", "abdomen_x"),
        *("right_hip_x", "right_hip_z", "right_hip_y", "right_knee", "right_ankle_x", "right_ankle_y"),
        *("left_hip_x", "left_hip_z", "left_hip_y", "left_knee", "left_ankle_x", "left_ankle_y"),
        *("right_shoulder1", "right_shoulder2", "right_elbow", "left_shoulder1", "left_shoulder2", "left_elbow"),
    ) == DOF_NAMES
    assert tuple(model.joint(i).name for i in range(1, model.njnt)) == DOF_NAMES
    assert (model.nq, model.nv, model.nu) == (28, 27, 21)
    for actuator in range(model.nu):
        assert model.actuator(actuator).name == DOF_NAMES[actuator]
        assert model.actuator_trnid[actuator, 0] == actuator + 1, "action i moves dof i"


def test_mass_size_and_symmetry_of_the_body(model):
    masses = {model.body(i).name: model.body_mass[i] for i in range(model.nbody)}
    assert 38 < sum(masses.values()) < 45
    for part in ("thigh", "shin", "foot", "upper_arm", "lower_arm"):
        assert masses[f"right_{part}"] == masses[f"left_{part}"] > 0.5
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    head = data.geom("head")
    soles = min(data.geom(f"{side}_foot_inner").xpos[2] for side in ("right", "left")) - 0.027
    assert head.xpos[2] + 0.09 - soles == pytest.approx(1.57, abs=0.02)
    right, left = (data.geom(f"{side}_hand").xpos for side in ("right", "left"))
    assert right * (1, -1, 1) == pytest.approx(left)


def test_limits_and_strengths_of_right_and_left_are_equal(model):
    degrees = {name: np.degrees(model.joint(name).range).round().tolist() for name in DOF_NAMES}
    assert degrees["right_knee"] == [-160, 2] and degrees["abdomen_y"] == [-75, 30]
    strengths = {name: model.actuator(name).gear[0] for name in DOF_NAMES}
    for name in (n for n in DOF_NAMES if n.startswith("right")):
        other = name.replace("right", "left")
        assert strengths[name] == strengths[other]
        assert degrees[name] in (degrees[other], [-degrees[other][1], -degrees[other][0]])
    assert strengths["right_hip_y"] == max(strengths.values())


@pytest.mark.parametrize("pair", ["hip_x", "hip_z", "hip_y", "knee", "ankle_x", "ankle_y"])
def test_the_same_angles_right_and_left_are_mirrored_poses(model, pair):
    data = mujoco.MjData(model)
    for side in ("right", "left"):
        data.joint(f"{side}_{pair}").qpos = -0.4
    mujoco.mj_kinematics(model, data)
    right, left = (data.geom(f"{side}_foot_outer").xpos for side in ("right", "left"))
    assert right * (1, -1, 1) == pytest.approx(left, abs=1e-9)


def test_negative_hip_and_knee_bend_the_leg(model):
    data = mujoco.MjData(model)
    data.joint("right_hip_y").qpos = -1.0
    mujoco.mj_kinematics(model, data)
    assert data.body("right_shin").xpos[0] > 0.3, "the thigh swings ahead"
    data.joint("right_knee").qpos = -1.0
    mujoco.mj_kinematics(model, data)
    assert data.body("right_foot").xpos[0] - data.body("right_shin").xpos[0] == pytest.approx(0, abs=0.1)


def test_legs_collide_with_each_other_and_the_ground_but_not_with_themselves(model):
    def collide(first: str, second: str) -> bool:
        a, b = model.geom(first), model.geom(second)
        return bool((a.contype & b.conaffinity) | (b.contype & a.conaffinity))

    assert collide("right_shin", "left_shin") and collide("right_foot_inner", "left_foot_inner")
    assert collide("right_foot_outer", "ground") and collide("left_hand", "ground") and collide("left_shin", "ground")
    assert not collide("right_thigh", "right_foot_inner") and not collide("chest", "right_hand")


def test_head_of_the_observation_standing_still():
    obs = observed(position=(3.0, 0.0, 1.4)).obs_buf[0]
    assert obs.shape == (108,)
    assert obs[:12].tolist() == pytest.approx([1.4] + [0] * 6 + [0, 0, 0, 1, 1], abs=1e-6)


def test_turned_and_moving():
    # facing +y, moving along +x (to the robot's right) and turning about its own axes
    half = math.sqrt(0.5)
    env = observed(quat=(half, 0, 0, half), linear=(2.0, 0.0, 0.5), angular=(1.0, 0.0, 2.0))
    assert env.obs_buf[0, 1:4].tolist() == pytest.approx([0.0, -2.0, 0.5], abs=1e-5)
    assert env.obs_buf[0, 4:7].tolist() == pytest.approx([0.25, 0.0, 0.5], abs=1e-5)
    assert env.obs_buf[0, 7:12].tolist() == pytest.approx([math.pi / 2, 0, -math.pi / 2, 1, 0], abs=1e-5)
    assert env.velocity[0].tolist() == pytest.approx([2.0, 0.0, 0.5])
    assert env.torso_position[0].tolist() == pytest.approx([0.0, 0.0, 1.33])
    assert env.root_states[0, 3:7].tolist() == pytest.approx([0, 0, half, half])


def test_blocks_of_the_observation(model):
    knee = DOF_NAMES.index("right_knee")
    dof_pos, dof_vel = np.zeros(21), np.zeros(21)
    dof_pos[knee], dof_vel[knee] = math.radians(-160), 3.0
    ctrl = np.linspace(-1, 1, 21)
    env = observed(position=(0, 0, 3.0), dof_pos=dof_pos, dof_vel=dof_vel, ctrl=ctrl)
    obs = env.obs_buf[0]
    assert obs[12 + knee].item() == pytest.approx(-1.0, abs=1e-5)
    assert obs[12].item() == pytest.approx((0 - -22.5) / 52.5, abs=1e-5), "abdomen_y: 0 in -75 to 30 degrees"
    assert obs[33 + knee].item() == pytest.approx(0.3)
    assert obs[54:75].tolist() == pytest.approx((0.01 * ctrl * model.actuator_gear[:, 0]).tolist(), abs=1e-5)
    assert obs[75:87].abs().max() == 0, "feet in the air feel nothing"
    assert obs[87:].tolist() == pytest.approx(ctrl.tolist())


def test_the_feet_carry_the_weight_right_first(model):
    weight = model.body_mass.sum() * 9.81
    env = Environment("Humanoid", worlds=1)
    state = env.state_dict()
    state["physics"][0, 1:29] = torch.tensor([0, 0, STANDING, *UPRIGHT, *[0.0] * 21])
    state["physics"][0, 29:56] = 0
    env.load_state_dict(state)
    for _ in range(20):
        env.step(torch.zeros(1, 21))
    feet = env.attributes["vec_sensor_tensor"][0].view(2, 6)
    assert feet[:, 2].sum().item() == pytest.approx(weight, rel=0.05)
    assert torch.equal(env.obs_buf[0, 75:87], feet.flatten() * env.attributes["contact_force_scale"])
    on_the_right = observed(position=(0, 0, STANDING - 0.005), dof_pos=_lifted("left")).vec_sensor_tensor[0]
    assert on_the_right[2] > 10 and on_the_right[6:].abs().max() == 0


def _lifted(side: str) -> np.ndarray:
    dof_pos = np.zeros(21)
    dof_pos[[DOF_NAMES.index(f"{side}_hip_y"), DOF_NAMES.index(f"{side}_knee")]] = -0.8
    return dof_pos


def stepped(height: float, speed: float = 0.0, quat: Sequence[float] = UPRIGHT) -> tuple[Environment, Step]:
    """One humanoid after a step without action, from this height, speed ahead and rotation."""
    env = Environment("Humanoid", worlds=1)
    state = env.state_dict()
    state["physics"][0, 3:8] = torch.tensor([height, *quat])
    state["physics"][0, 29:32] = torch.tensor([speed, 0.0, 0.0])
    env.load_state_dict(state)
    return env, env.step(torch.zeros(1, 21))


@pytest.mark.parametrize(("height", "terminated"), [(0.81, False), (0.79, True)])
def test_a_torso_below_80_centimetres_ends_the_episode(height, terminated):
    face_down = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)  # no leg holds it up
    assert stepped(height, quat=face_down)[1].terminated.item() is terminated


def test_metric_is_the_speed_ahead():
    env, step = stepped(height=2.0, speed=3.0)
    assert step.metric_counts.all()
    assert step.metric.item() == pytest.approx(3.0, abs=0.1)
    assert step.metric.item() == pytest.approx(env.qpos(0)[0] * 60, abs=0.01)


def test_starts_are_upright_noisy_and_above_the_ground():
    env = Environment("Humanoid", worlds=200)
    dof_pos = env.attributes["dof_pos"]
    lower, upper = env.attributes["dof_limits_lower"], env.attributes["dof_limits_upper"]
    assert ((dof_pos >= lower) & (dof_pos <= upper)).all()
    assert 0.19 < dof_pos.abs().max() <= 0.2
    assert (env.attributes["up_vec"][:, 2] == 1).all()
    assert (env.attributes["vec_sensor_tensor"] == 0).float().mean() > 0.9
    assert torch.equal(env.attributes["potentials"], env.attributes["prev_potentials"])


@pytest.mark.slow
def test_random_motor_commands_never_make_the_physics_diverge():
    env = Environment("Humanoid", worlds=32)
    generator = torch.Generator().manual_seed(1)
    for _ in range(120):
        step = env.step(torch.randint(0, 2, (32, 21), generator=generator) * 2.0 - 1)
        assert not step.diverged.any()
        env.reset(step.terminated | step.truncated)


def test_reference_reward_by_hand():
    namespace: dict = {}
    exec(catalog.read_reference_reward("Humanoid"), namespace)  # our own file
    env = observed()
    inputs = {name: getattr(env, name) for name in catalog.get_task("Humanoid").inputs}
    upper = inputs["dof_limits_upper"]
    middle = (inputs["dof_limits_lower"] + upper) / 2
    hip = DOF_NAMES.index("left_hip_y")
    dof_pos, dof_vel = middle.clone(), torch.zeros(21)
    dof_pos[hip], dof_vel[hip] = upper[hip], 4.0
    inputs |= {
        "potentials": torch.tensor([-59998.5]),
        "prev_potentials": torch.tensor([-60000.0]),
        "actions": torch.full((1, 21), 0.5),
        "dof_pos": dof_pos[None],
        "dof_vel": dof_vel[None],
    }
    code = namespace["compute_reward"].__code__
    used = code.co_varnames[: code.co_argcount]
    total, parts = namespace["compute_reward"](**{name: inputs[name] for name in used})
    assert {name: round(value.item(), 4) for name, value in parts.items()} == {
        "progress": 1.5,
        "alive": 2.0,
        "up": 0.1,
        "heading": 0.5,
        "action_cost": -0.0525,
        "energy_cost": -0.01,  # 0.05 x 0.5 x 4 rad/s x 0.1, the strongest motor
        "limit_cost": -0.25,
    }
    assert total.item() == pytest.approx(3.7875, abs=1e-4)
    fallen = inputs | {"root_states": inputs["root_states"] - 1.0}
    assert namespace["compute_reward"](**{name: fallen[name] for name in used})[0].item() == -1.0


def test_reference_strengths_are_the_models(model):
    source = catalog.read_reference_reward("Humanoid")
    listed = eval("(" + source[source.index("        [67.5") : source.index("        device=")].strip(" ,\n") + ")")
    assert listed == model.actuator_gear[:, 0].tolist()
