import math

import pytest
import torch

from llm.messages import first_prompt
from llm.offline.quantities import LESS, MORE, NEAR_ONE, NEAR_ZERO, derive, read_shape
from llm.offline.reading import read
from llm.records import Problem
from simulation import catalog


def quantities(name):
    info = catalog.get_task(name)
    problem = Problem(name, info.description, catalog.read_observation_source(name), info.inputs)
    return derive(read(first_prompt(problem)))


@pytest.mark.parametrize(
    ("text", "dims"),
    [
        ("Tensor (num_envs, 13)", (13,)),
        ("Tensor (num_envs,)", ()),
        ("Tensor (num_envs, 5, 3)", (5, 3)),
        ("Tensor (8,)", None),
        ("float", None),
    ],
)
def test_shapes_are_read_as_documented(text, dims):
    assert read_shape(text) == dims


@pytest.mark.parametrize(
    ("task", "first"),
    [
        ("Ant", "progress"),
        ("Humanoid", "progress"),
        ("Cartpole", "pole_angle"),
        ("HumanoidJump", "rising_speed"),
        ("BallBalance", "ball_tray_distance"),
        ("Quadcopter", "target_distance"),
        ("AntLieDown", "belly_up"),
        ("AntPatrolAndReturn", "progress"),
        ("AllegroHand", "rotation_error"),
        ("ShadowHand", "rotation_error"),
    ],
)
def test_the_task_text_decides_what_comes_first(task, first):
    ranked = quantities(task)
    tops = [q.name for q in ranked if q.relevance == ranked[0].relevance]
    assert first in tops


def test_ant_offers_what_a_person_would_use():
    found = {q.name: q for q in quantities("Ant")}
    assert found["progress"].expression == "potentials - prev_potentials"
    assert (found["forward_speed"].expression, found["forward_speed"].aim) == ("root_states[:, 7]", MORE)
    assert (found["upright"].expression, found["upright"].aim) == ("up_vec[:, 2]", NEAR_ONE)
    assert found["sideways_speed"].aim == NEAR_ZERO
    assert found["effort"].aim == found["power"].aim == found["joint_limits"].aim == LESS


def test_a_point_that_the_task_names_is_where_to_be():
    found = {q.name: q for q in quantities("Quadcopter")}
    point = "torch.tensor([0.0, 0.0, 1.0], device=root_positions.device)"
    assert found["target_distance"].expression == f"torch.norm(root_positions - {point}, dim=-1)"
    assert found["target_distance"].inputs == {"root_positions"} and found["target_distance"].aim == NEAR_ZERO


def test_who_should_stay_is_slow_in_every_direction():
    for task, name in (("Quadcopter", "speed"), ("BallBalance", "ball_speed"), ("AntLieDown", "speed")):
        found = {q.name: q for q in quantities(task)}
        assert found[name].aim == LESS and not {"forward_speed", "ball_forward_speed"} & set(found)


def test_who_should_lie_is_neither_upright_nor_high():
    found = {q.name: q for q in quantities("AntLieDown")}
    assert (found["belly_up"].expression, found["belly_up"].aim) == ("-up_vec[:, 2]", NEAR_ONE)
    assert "upright" not in found and found["height"].aim == LESS


def test_ahead_is_towards_a_target_that_changes():
    found = {q.name: q for q in quantities("AntPatrolAndReturn")}
    assert found["approach_speed"].inputs == {"root_states", "targets"} == found["target_distance"].inputs
    assert found["heading"].inputs == {"heading_vec", "root_states", "targets"}
    assert found["phase_reached"].aim == MORE and "forward_speed" not in found
    assert "approach_speed" not in {q.name for q in quantities("Ant")}


def test_what_has_a_goal_should_turn_to_it_and_stay_there():
    found = {q.name: q for q in quantities("ShadowHand")}
    assert found["rotation_error"].aim == NEAR_ZERO and found["rotation_error"].inputs == {"object_rot", "goal_rot"}
    assert found["object_distance"].aim == found["object_speed"].aim == found["fingertip_distance"].aim == LESS
    assert not {"object_forward_speed", "object_rising_speed"} & set(found)
    rotation = torch.tensor([[0.0, 0.0, math.sin(0.25), math.cos(0.25)], [0.0, 0.0, -math.sin(0.04), -math.cos(0.04)]])
    inputs = {"torch": torch, "object_rot": rotation, "goal_rot": torch.tensor([[0.0, 0.0, 0.0, 1.0]])}
    assert eval(found["rotation_error"].expression, inputs).tolist() == pytest.approx([0.5, 0.08], abs=1e-3)
    assert eval(found["at_goal"].expression, inputs).tolist() == [0.0, 1.0]


def test_who_is_commanded_follows_and_is_not_asked_to_run():
    found = {q.name: q for q in quantities("Anymal")}
    assert found["velocity_error"].inputs == found["yaw_rate_error"].inputs == {"commands", "root_states"}
    assert found["velocity_error"].aim == found["yaw_rate_error"].aim == NEAR_ZERO
    assert not {"forward_speed", "ground_speed", "sideways_speed"} & set(found)
    assert "10:12" in found["spin"].expression


def test_what_opens_should_open_and_be_reached_and_grasped_straight():
    ranked = quantities("FrankaCabinet")
    found = {q.name: q for q in ranked}
    assert {q.name for q in ranked[:2]} == {"drawer_opening", "drawer_opening_velocity"}
    assert (found["drawer_opening"].expression, found["drawer_opening"].aim) == ("cabinet_dof_pos[:, 3]", MORE)
    assert found["franka_grasp_drawer_grasp_distance"].aim == NEAR_ZERO
    assert found["gripper_up_alignment"].inputs == {
        *("franka_grasp_rot", "gripper_up_axis", "drawer_grasp_rot", "drawer_up_axis")
    }


def test_columns_take_their_meaning_from_the_observation_code():
    found = {q.name: q.expression for q in quantities("Cartpole")}
    assert found["pole_angle"] == "dof_pos[:, 1]" and found["cart_velocity"] == "dof_vel[:, 0]"


def test_a_quantity_names_the_inputs_it_reads():
    found = {q.name: q for q in quantities("Ant")}
    assert found["power"].inputs == {"actions", "dof_vel"}
    assert found["joint_limits"].inputs == {"dof_pos", "dof_limits_lower", "dof_limits_upper"}


def test_every_input_of_a_quantity_is_documented():
    for name, info in catalog.list_tasks().items():
        for quantity in quantities(name):
            assert quantity.inputs <= set(info.inputs), (name, quantity)


def test_the_judges_words_mark_what_they_speak_of():
    text = "# Task\nrun forward\n# Inputs\n- `root_states`: Tensor (num_envs, 13)\n- `up_vec`: Tensor (num_envs, 3)\n"
    assert not any(q.spoken for q in derive(read([{"role": "user", "content": text}])))
    said = text + "# What the judge said\nIt falls over and wobbles."
    spoken = {q.name for q in derive(read([{"role": "user", "content": said}])) if q.spoken}
    assert {"upright", "spin", "alive"} <= spoken and not {"forward_speed", "effort"} & spoken
