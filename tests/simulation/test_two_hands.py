"""What the tasks with two hands share."""

import inspect
import math

import numpy as np
import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.environment import Environment
from simulation.robots.two_hands import find_angles, place_base, turn_by
from tests.simulation.every_task import WITH_TWO_HANDS
from tests.simulation.hands import Hands, bend
from tests.simulation.syntax import check_syntax

PRINTED = {
    "Over": (398, 40, 75),
    "BlockStack": (428, 52, 250),
    "BottleCap": (420, 52, 125),
    "CatchAbreast": (422, 52, 150),
    "CatchUnderarm": (422, 52, 75),
    "DoorCloseOutward": (417, 52, 250),
    "GraspAndPlace": (425, 52, 500),
    "Kettle": (417, 52, 125),
    "LiftUnderarm": (417, 52, 500),
    "SwingCup": (417, 52, 300),
}
"""Observations, actions, steps of an episode."""
RIGHT, LEFT = (math.pi, 1.57, 1.57), (math.pi, -1.57, 1.57)
"""How DoorCloseOutward's hands are turned."""


def test_sizes_rate_and_length_are_the_published_ones():
    found = {task: catalog.get_task(task) for task in WITH_TWO_HANDS}
    assert {name: (i.num_obs, i.num_actions, i.episode_steps) for name, i in found.items()} == PRINTED
    assert {(info.control_dt, info.substeps, info.kind) for info in found.values()} == {(1 / 60, 2, "Two hands")}
    for name in found:
        assert check_syntax(catalog.read_sparse_reward(name), name).ok


HANDLES = {
    "BlockStack": ("block_right_handle_pos", "block_left_handle_pos"),
    "BottleCap": ("bottle_cap_pos", "bottle_pos"),
    "DoorCloseOutward": ("door_right_handle_pos", "door_left_handle_pos"),
    "GraspAndPlace": ("block_right_handle_pos", "block_left_handle_pos"),
    "Kettle": ("kettle_handle_pos", "bucket_handle_pos"),
    "LiftUnderarm": ("pot_right_handle_pos", "pot_left_handle_pos"),
    "SwingCup": ("cup_right_handle_pos", "cup_left_handle_pos"),
}
"""What the right and the left hand go to."""


@pytest.mark.parametrize("task", HANDLES)
def test_human_rewards_cost_nothing_where_both_hands_have_come_to_their_handles(task):
    """Else a policy stops in front of them: it is paid for reaching, and fined for having reached."""
    env = Environment(task, worlds=4, threads=1, seed=3)
    names = [name for name in catalog.get_task(task).inputs if name in env.attributes]
    state = {name: env.attributes[name].clone() for name in names}
    right, left = (state[name] for name in HANDLES[task])
    state |= {"right_hand_pos": right, "left_hand_pos": left}
    state |= {"fingertip_pos": right[:, None].repeat(1, 5, 1), "fingertip_another_pos": left[:, None].repeat(1, 5, 1)}
    namespace: dict = {}
    exec(catalog.read_reference_reward(task), namespace)  # our own file
    asked = inspect.signature(namespace["compute_reward"]).parameters
    parts = namespace["compute_reward"](**{name: state[name] for name in asked})[1]
    assert parts.pop("reach").min() >= 0 or task == "SwingCup"
    assert min(part.min().item() for part in parts.values()) >= 0


@pytest.mark.parametrize("side", ["right_", "left_"])
def test_each_hand_is_shadow_hands_but_for_its_forearm(side):
    single, double = (
        mujoco_models.build_physics_model("ShadowHand"),
        mujoco_models.build_physics_model("DoorCloseOutward"),
    )
    names = [single.body(index).name for index in range(single.nbody)]
    for name in names[names.index("wrist") : names.index("cube")]:
        one, other = single.body(name), double.body(side + name)
        for part in ("mass", "inertia", "ipos", "pos", "quat"):
            assert getattr(one, part).tolist() == getattr(other, part).tolist(), (name, part)
    for index in range(single.nu):
        name = single.actuator(index).name
        one, other = single.actuator(name), double.actuator(side + name)
        for part in ("ctrlrange", "forcerange", "gainprm", "biasprm"):
            assert getattr(one, part).tolist() == getattr(other, part).tolist(), (name, part)
        assert single.joint(name).range.tolist() == double.joint(side + name).range.tolist()
        assert single.joint(name).damping.tolist() == double.joint(side + name).damping.tolist()


def test_a_place_is_the_forearms_end_and_turns_are_about_the_worlds_axes():
    model = mujoco_models.build_visual_model("DoorCloseOutward")
    assert place_base((0, 0, 0.5, 0, 0, 0))[:3] == pytest.approx([0, -0.29, 0.5]), "fingers point along -y"
    assert place_base((0.55, 0.2, 0.6, *RIGHT))[:3] == pytest.approx([0.26, 0.2, 0.6], abs=1e-3)
    assert model.body("right_forearm").pos.tolist() == [0, 0.29, 0]
    for turns in ((0.3, -0.4, 0.5), RIGHT, (0.0, 0.0, 2.0)):
        again = find_angles(torch.tensor([turn_by(*turns)]))[0].tolist()
        assert np.abs(np.dot(turn_by(*again), turn_by(*turns))) == pytest.approx(1.0, abs=1e-6)


def test_hands_rest_where_they_are_and_do_not_feel_their_weight():
    hands = Hands("DoorCloseOutward")
    before = hands.path[0]
    hands.move(60)
    assert hands.path[-1][[0, 1, 2, 31, 32, 33]] == pytest.approx(before[[0, 1, 2, 31, 32, 33]], abs=2e-3)
    assert abs(hands.path[-1][3:7] @ before[3:7]) == pytest.approx(1.0, abs=1e-4)
    assert not hands.ended and not hands.solved


def test_a_push_moves_a_base_along_the_world_and_a_turn_turns_it():
    hands = Hands("DoorCloseOutward")
    action = np.zeros(52)
    action[[0, 26 + 1, 26 + 5]] = 0.5, -0.2, 0.25
    for _ in range(12):
        before = hands.path[-1]
        hands.act(action)
    speed = (hands.path[-1] - before) * 60
    assert speed[:3] == pytest.approx([0.5 * 833 / 500, 0, 0], abs=0.03), "833 N against 500 Ns/m"
    assert speed[32] == pytest.approx(-0.2 * 833 / 500, abs=0.03)
    yaw = [find_angles(torch.tensor(q[None, 34:38]))[0, 2].item() for q in (before, hands.path[-1])]
    assert (yaw[1] - yaw[0]) * 60 > 0.5, "about the world's z axis"


def test_the_observation_of_both_hands_entry_by_entry():
    hands = Hands("DoorCloseOutward")
    shape = bend((0.5, 0.9), thumb=(0.2, 0.3, 0, 0, -0.4), wrist=(0, 0.1))
    hands.move(30, ((0.1, 0.25, 0.7), RIGHT), ((0.15, -0.2, 0.6), LEFT), (shape, bend(0.2)))
    seen = hands.env.obs_buf[0].numpy()
    lower, upper = (hands.env.attributes[f"shadow_hand_dof_{end}_limits"].numpy() for end in ("lower", "upper"))
    for start, other, hand in ((0, "", "right"), (199, "another_", "left")):
        fingers = hands.get(f"shadow_hand_{other}dof_pos")
        scaled = (2 * fingers - upper - lower) / (upper - lower)
        assert seen[start : start + 24] == pytest.approx(scaled, abs=1e-5)
        assert seen[start + 24 : start + 48] == pytest.approx(0.2 * hands.get(f"shadow_hand_{other}dof_vel"), abs=1e-5)
        force = hands.get("dof_force_tensor")[:24] if start == 0 else hands.get("dof_force_tensor")[24:]
        assert seen[start + 48 : start + 72] == pytest.approx(10 * force, rel=1e-5)
        tips = hands.get(f"fingertip_{other}state")
        assert seen[start + 72 : start + 137] == pytest.approx(tips.ravel(), abs=1e-5)
        assert tips[:, :3] == pytest.approx(hands.get(f"fingertip_{other}pos"))
        assert seen[start + 167 : start + 170] == pytest.approx(hands.get(f"{hand}_hand_pos"))
        assert (
            np.abs(np.dot(turn_by(*seen[start + 170 : start + 173]), turn_by(*(RIGHT if start == 0 else LEFT)))) > 0.999
        )
        assert seen[start + 173 : start + 199] == pytest.approx(hands.get("actions")[26 * (start > 0) :][:26])
    assert hands.get("right_hand_pos") == pytest.approx([0.1, 0.25, 0.7], abs=5e-3)
    fingers = hands.get("shadow_hand_dof_pos")[[3, 4, 5]]
    assert fingers == pytest.approx([0.5, 0.9, 0.9], abs=0.1), "the last hinge follows the one before"


def test_a_fingertip_feels_what_lies_on_it():
    hands = Hands("Over")
    x, y, z = hands.get("right_hand_mf_pos")
    hands.put({48: x, 49: y, 50: z + 0.045})
    pressed = []
    for _ in range(8):
        hands.move(1)
        pressed.append(hands.get("vec_sensor_tensor").reshape(10, 6)[:, 2])
    assert np.min(pressed, axis=0)[1] < -0.5, "the egg's weight presses down on the middle finger"
    assert (np.abs(pressed)[:, 5:] == 0).all()


@pytest.mark.slow
def test_wild_actions_stay_finite():
    for task in ("Over", "DoorCloseOutward"):
        env = Environment(task, worlds=8)
        generator = torch.Generator().manual_seed(0)
        for index in range(100):
            if index % 10 == 0:
                held = torch.randn(8, env.info.num_actions, generator=generator).sign()
            step = env.step(held)
            assert not step.diverged.any()
            env.reset(step.truncated | step.terminated)
        assert env.obs_buf.isfinite().all()


def test_a_success_is_remembered_until_the_episode_ends():
    hands = Hands("DoorCloseOutward")
    hands.put({62: 0.9, 63: 0.9})
    hands.move(1)
    assert hands.solved and hands.step.metric.item() == 1.0 and not hands.step.metric_counts.item()
    hands.put({62: 1.5, 63: 1.5})
    hands.move(1)
    assert hands.solved
    hands.env.reset()
    hands.move(1)
    assert not hands.solved
