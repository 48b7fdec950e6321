import mujoco
import numpy as np
import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.environment import Environment
from simulation.tasks.humanoid.info import DOF_NAMES
from simulation.worlds import Worlds
from tests.simulation import observing


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco_models.build_physics_model("HumanoidJump")


def observed(height: float, dof_pos: np.ndarray | float = 0.0, **velocity: tuple[float, ...]) -> Worlds:
    """One humanoid's variables at this height."""
    return observing.compute_variables(
        "HumanoidJump", (1.0, 2.0, height), dof_pos=dof_pos, ctrl=np.linspace(-1, 1, 21), **velocity
    )


def test_the_body_is_humanoids(model):
    humanoid = mujoco_models.build_physics_model("Humanoid")
    for field in ("body_mass", "body_pos", "jnt_range", "dof_damping", "geom_size", "geom_contype", "actuator_gear"):
        assert np.array_equal(getattr(model, field), getattr(humanoid, field)), field
    assert [model.joint(i).name for i in range(model.njnt)] == ["root", *DOF_NAMES]
    assert np.array_equal(model.qpos0, humanoid.qpos0)


def test_there_is_no_metric():
    assert catalog.get_task("HumanoidJump").metric is None
    env = Environment("HumanoidJump", worlds=4)
    step = env.step(torch.zeros(4, 21))
    assert not step.metric_counts.any() and not step.metric.any()


def test_the_observation_by_hand():
    env = observed(1.5, linear=(0.5, 0.0, 2.0), angular=(0.0, 4.0, 0.0))
    obs = env.obs_buf[0]
    assert obs.shape == (108,)
    assert obs[:12].tolist() == pytest.approx([1.0, 2.0, 1.5, 0.5, 0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], abs=1e-5)
    assert env.velocity_world[0].tolist() == pytest.approx([0.5, 0.0, 2.0])
    assert env.angular_velocity_world[0].tolist() == pytest.approx([0.0, 4.0, 0.0], abs=1e-5)
    assert env.angular_velocity_local[0].tolist() == pytest.approx([0.0, 1.0, 0.0], abs=1e-5)
    assert obs[75:87].abs().max() == 0
    assert torch.equal(obs[87:], env.actions[0])


def test_every_named_joint_is_its_column_of_dof_pos():
    env = observed(1.5, dof_pos=np.linspace(-0.02, 0.03, 21))
    for column, name in enumerate(DOF_NAMES):
        assert torch.equal(getattr(env, name), env.dof_pos[:, column]), name
        assert name in catalog.get_task("HumanoidJump").inputs


def test_the_force_on_a_leg_is_that_on_its_foot():
    lifted = np.zeros(21)
    lifted[[DOF_NAMES.index("left_hip_y"), DOF_NAMES.index("left_knee")]] = -0.8
    env = observed(1.28, lifted)
    assert env.right_leg_contact_force[0, 2] > 10
    assert not env.left_leg_contact_force.any()
    assert torch.equal(env.right_leg_contact_force, env.vec_sensor_tensor[:, 0:3])
    kneeling = np.zeros(21)
    kneeling[[DOF_NAMES.index("right_knee"), DOF_NAMES.index("left_knee")]] = -2.4
    env = observed(0.875, kneeling)
    assert not env.right_leg_contact_force.any() and not env.left_leg_contact_force.any(), "it kneels"
    assert reference(env)["flight"] == 0


def test_the_previous_position_is_that_of_the_step_before():
    env = Environment("HumanoidJump", worlds=2)
    assert torch.equal(env.attributes["torso_position"], env.attributes["prev_torso_position"])
    before = env.attributes["torso_position"].clone()
    env.step(torch.zeros(2, 21))
    assert torch.equal(env.attributes["prev_torso_position"], before)
    assert not torch.equal(env.attributes["torso_position"], before)


def reference(env: Worlds, **changed: torch.Tensor) -> dict[str, float]:
    """The components and the total of the reference reward in this state, with some inputs changed."""
    namespace: dict = {}
    exec(catalog.read_reference_reward("HumanoidJump"), namespace)  # our own file
    inputs = {name: getattr(env, name) for name in catalog.get_task("HumanoidJump").inputs} | changed
    code = namespace["compute_reward"].__code__
    total, parts = namespace["compute_reward"](**{n: inputs[n] for n in code.co_varnames[: code.co_argcount]})
    return {name: value.item() for name, value in parts.items()} | {"total": total.item()}


def test_the_reference_prefers_a_two_legged_jump_to_a_lifted_leg():
    rising = torch.tensor([[0.0, 0.0, 2.0]])
    both = reference(observed(1.6), velocity_world=rising)
    lifted = np.zeros(21)
    lifted[[DOF_NAMES.index("left_hip_y"), DOF_NAMES.index("left_knee")]] = (-1.2, -1.2)
    one = reference(observed(1.6, lifted), velocity_world=rising)
    assert both["flight"] == pytest.approx(1.0 + 4.0 * 0.4, abs=1e-4)
    assert both["rise"] == pytest.approx(2.0, abs=1e-4)
    assert one["flight"] < 0.05 and one["rise"] < 0.05
    assert both["total"] > one["total"] + 3


def test_the_reference_rewards_bent_knees_on_the_ground_only():
    bent = np.zeros(21)
    for side in ("right", "left"):
        bent[DOF_NAMES.index(f"{side}_knee")] = -0.6
        bent[DOF_NAMES.index(f"{side}_hip_y")] = bent[DOF_NAMES.index(f"{side}_ankle_y")] = -0.3
    assert reference(observed(1.21, bent))["crouch"] == pytest.approx(0.18, abs=1e-4)
    assert reference(observed(1.6, bent))["crouch"] == 0
    assert reference(observed(0.7))["total"] == -1.0
