"""A task's model file: what is said of one that cannot be used."""

import io
from pathlib import Path

import mujoco
import numpy as np
import pytest

from simulation import mujoco_models
from simulation.environment import Environment
from simulation.rewards import dry_run

GOOD = mujoco_models.get_model_path("Cartpole").read_text()
TASKS = mujoco_models.get_model_path("Cartpole").parents[1]


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Give Cartpole's model.xml another text."""

    def write(text: str) -> Path:
        path = tmp_path / "cartpole" / "model.xml"
        path.parent.mkdir(exist_ok=True)
        for shared in ("common.xml", "look.xml"):
            (tmp_path / shared).write_text((TASKS / shared).read_text())
        path.write_text(text)
        monkeypatch.setattr(mujoco_models, "get_model_path", lambda task: path)
        return path

    return write


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("what?", "XML"),
        (GOOD[: len(GOOD) // 2], "XML"),
        (GOOD.replace("<joint", "<hinge"), "unrecognized|Schema"),
        (GOOD.replace("../common.xml", "../missing.xml"), "missing.xml"),
        (GOOD.replace("<actuator>", '<actuator><motor joint="knee"/>'), "knee"),
    ],
    ids=["no XML", "cut off", "unknown element", "missing include", "unknown joint"],
)
def test_a_malformed_model_is_named_with_its_fault(model, text, reason):
    assert text != GOOD
    path = model(text)
    for build in (
        mujoco_models.build_physics_model,
        mujoco_models.build_visual_model,
        lambda task: Environment(task, worlds=1),
    ):
        with pytest.raises(ValueError, match=reason) as error:
            build("Cartpole")
        assert str(error.value).startswith(f"{path} is no model that MuJoCo can compile: ")
        assert "\n" not in str(error.value)


def test_the_check_of_a_reward_says_that_the_model_is_at_fault(model, monkeypatch):
    model("what?")
    monkeypatch.setattr(dry_run, "_die_with_parent", lambda: None)
    monkeypatch.setattr("sys.stdin", io.StringIO('{"task": "Cartpole", "sources": [""], "timeout": 1}'))
    with pytest.raises(SystemExit, match=r"^\S+model.xml is no model that MuJoCo can compile: XML"):
        dry_run.main()


def test_a_time_step_that_does_not_fit_the_control_step_is_refused(model):
    model(GOOD.replace('timestep="0.008', 'timestep="0.009', 1))
    with pytest.raises(ValueError, match="is not the control step"):
        mujoco_models.build_physics_model("Cartpole")


def test_a_model_without_camera_light_and_sky_is_given_them_for_films_alone(model):
    model(
        '<mujoco><option timestep="0.00833333333333"/><worldbody><body><joint/><geom size="0.1"/></body></worldbody>'
        "</mujoco>"
    )
    shown = mujoco_models.build_visual_model("Cartpole")
    assert (shown.ncam, shown.nlight, shown.tex_type.tolist()) == (1, 1, [mujoco.mjtTexture.mjTEXTURE_SKYBOX])
    physics = mujoco_models.build_physics_model("Cartpole")
    assert (physics.ncam, physics.nlight, physics.ntex) == (0, 0, 0)


@pytest.mark.parametrize(("farther", "seen"), [(mujoco_models.CAMERA_FARTHER, True), (1.0, False)])
def test_a_camera_that_a_model_lacks_sees_what_moves_beside_the_robot(model, monkeypatch, farther, seen):
    monkeypatch.setattr(mujoco_models, "CAMERA_FARTHER", farther)
    model(
        '<mujoco><option timestep="0.00833333333333"/><worldbody><body><joint/><geom type="capsule" size="0.01" '
        'fromto="0 0 0 0.2 0 0"/></body><body name="target" pos="0.1 -0.25 0"><joint type="slide"/><geom size="0.01"/>'
        "</body></worldbody></mujoco>"
    )
    shown = mujoco_models.build_visual_model("Cartpole")
    data = mujoco.MjData(shown)
    mujoco.mj_forward(shown, data)
    place = data.cam_xmat[0].reshape(3, 3).T @ (data.body("target").xpos - data.cam_xpos[0])
    assert (abs(place[1]) < -place[2] * np.tan(np.radians(shown.cam_fovy[0] / 2))) == seen


def test_both_models_have_the_same_joints():
    physics, visual = mujoco_models.build_physics_model("ShadowHand"), mujoco_models.build_visual_model("ShadowHand")
    assert (physics.nq, physics.nv, physics.nu) == (visual.nq, visual.nv, visual.nu)
    assert physics.ngeom < visual.ngeom


@pytest.mark.parametrize("task", ["Anymal", "AllegroHand", "FrankaCabinet", "PickCube"])
def test_what_films_show_as_meshes_is_not_loaded_for_physics_and_changes_nothing(task):
    physics, shown = mujoco_models.build_physics_model(task), mujoco_models.build_visual_model(task)
    assert physics.nmesh == 0 < shown.nmesh
    assert drive(physics).tobytes() == drive(shown).tobytes()


def drive(model: mujoco.MjModel) -> np.ndarray:
    """Where random controls take the model in 200 steps: qpos (nq,)."""
    data, random = mujoco.MjData(model), np.random.default_rng(0)
    for _ in range(200):
        data.ctrl[:] = random.uniform(-1, 1, model.nu)
        mujoco.mj_step(model, data)
    return data.qpos
