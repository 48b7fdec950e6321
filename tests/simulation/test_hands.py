"""AllegroHand and ShadowHand: what they observe, when a goal is reached, how an episode begins and ends."""

import math
from collections.abc import Sequence

import mujoco
import numpy as np
import pytest
import torch

from simulation import bodies, catalog, mujoco_models
from simulation.environment import Environment
from simulation.renderer import RolloutRenderer
from simulation.robots import cube_in_hand
from simulation.rollout import Rollout
from simulation.rotations import quat_mul
from simulation.tasks.allegro_hand.task import Task as AllegroTask
from simulation.tasks.shadow_hand.task import Task as ShadowTask
from simulation.worlds import Worlds

TASKS = {"AllegroHand": AllegroTask, "ShadowHand": ShadowTask}
DOFS = {"AllegroHand": 16, "ShadowHand": 24}
BOTH = pytest.mark.parametrize("task", TASKS)


def about(axis: str, angle: float) -> torch.Tensor:
    """A quaternion xyzw."""
    return torch.tensor([math.sin(angle / 2) if a == axis else 0.0 for a in "xyz"] + [math.cos(angle / 2)])


def simulated(
    task: str,
    joints: float | Sequence[float] = 0.0,
    joint_speed: float = 0.0,
    position: Sequence[float] | None = None,
    quat: Sequence[float] = (1.0, 0.0, 0.0, 0.0),
    linear: Sequence[float] = (0.0, 0.0, 0.0),
    angular: Sequence[float] = (0.0, 0.0, 0.0),
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A hand with its cube in a state of MuJoCo's: quaternion wxyz, angular velocity in the cube's frame."""
    model, dofs = mujoco_models.build_physics_model(task), DOFS[task]
    data = mujoco.MjData(model)
    data.qpos[:dofs], data.qvel[:dofs] = joints, joint_speed
    data.qpos[dofs : dofs + 3] = model.qpos0[dofs : dofs + 3] if position is None else position
    data.qpos[dofs + 3 :], data.qvel[dofs:] = quat, (*linear, *angular)
    mujoco.mj_forward(model, data)
    return model, data


def observed(task: str, model: mujoco.MjModel, data: mujoco.MjData) -> Worlds:
    """One world's variables in this state, with the goal turned by 90 degrees about z."""
    definition = TASKS[task](model)
    env = Worlds(1, definition.constants)
    for name in ("qpos", "qvel", *definition.fields):
        setattr(env, name, torch.tensor(getattr(data, name))[None].float())
    env.noise = torch.full((1, definition.noise_size), 0.5)
    env.progress_buf = torch.ones(1, dtype=torch.int64)
    env.actions = torch.linspace(-1, 1, model.nu)[None]
    definition.begin(env)
    env.goal_rot = about("z", math.pi / 2)[None]
    definition.observe(env)
    return env


@BOTH
def test_the_observation_begins_with_hinges_scaled_to_their_limits_and_their_velocities_and_torques(task):
    dofs = DOFS[task]
    model, _ = simulated(task)
    lower, upper = model.jnt_range[:dofs].T
    # a quarter of the way from the lower limit is -0.5
    env = observed(task, *simulated(task, joints=lower + 0.25 * (upper - lower), joint_speed=1.5))
    assert torch.allclose(env.obs_buf[0, :dofs], torch.tensor(-0.5), atol=1e-5)
    assert torch.allclose(env.obs_buf[0, dofs : 2 * dofs], torch.tensor(0.3))
    # the motors are at angle 0 while nothing drives them: torque = -kp * angle, within the motor's limit
    finger = env.shadow_hand_dof_pos[0, -1].item()
    kp, limit = {"AllegroHand": (3.0, 0.5), "ShadowHand": (1.0, 0.81)}[task]
    torque = max(-limit, min(limit, -kp * finger))
    assert env.dof_force_tensor[0, -1].item() == pytest.approx(torque, abs=1e-5)
    assert torch.equal(env.obs_buf[0, 2 * dofs : 3 * dofs], env.dof_force_tensor[0] * 10.0)


@BOTH
def test_the_cube_and_its_goal_follow_in_isaacs_order(task):
    # turned by 90 degrees about x, moving, and spinning at 2 rad/s about its own y, which is the world's z
    half = math.sqrt(0.5)
    state = {"position": (0.1, 0.2, 0.7), "quat": (half, half, 0.0, 0.0), "linear": (1.0, 2.0, 3.0)}
    env = observed(task, *simulated(task, **state, angular=(0.0, 2.0, 0.0)))
    at = 3 * DOFS[task]
    cube = env.obs_buf[0, at : at + 13].tolist()
    assert cube == pytest.approx([0.1, 0.2, 0.7, half, 0, 0, half, 1, 2, 3, 0, 0, 0.4], abs=1e-5)
    start = mujoco_models.build_physics_model(task).qpos0[DOFS[task] : DOFS[task] + 3]
    goal = env.obs_buf[0, at + 13 : at + 20].tolist()
    assert goal == pytest.approx([start[0], start[1], start[2] - 0.04, 0, 0, half, half], abs=1e-5)
    # Rx(90) times the inverse of Rz(90): (x, y, z, w) = (1/2, 1/2, -1/2, 1/2)
    assert env.obs_buf[0, at + 20 : at + 24].tolist() == pytest.approx([0.5, 0.5, -0.5, 0.5], abs=1e-5)
    assert env.object_pose[0].tolist() == [*env.object_pos[0].tolist(), *env.object_rot[0].tolist()]
    assert env.obs_buf[0, -mujoco_models.build_physics_model(task).nu :].tolist() == env.actions[0].tolist()
    assert env.obs_buf.shape == (1, catalog.get_task(task).num_obs)


def test_fingertips_are_where_mujoco_has_them_and_move_as_they_do():
    model, data = simulated("ShadowHand", joints=0.2, joint_speed=0.7)
    env = observed("ShadowHand", model, data)
    tips = [data.body(f"{finger}distal") for finger in ("ff", "mf", "rf", "lf", "th")]
    places, quaternions = np.array([tip.xpos for tip in tips]), np.array([tip.xquat for tip in tips])
    mujoco.mj_integratePos(model, data.qpos, data.qvel, 1e-5)
    mujoco.mj_kinematics(model, data)
    moved = np.array([tip.xpos for tip in tips])
    state = env.fingertip_state[0]
    assert np.allclose(state[:, 0:3], places, atol=1e-6) and torch.equal(
        env.fingertip_pos, env.fingertip_state[..., :3]
    )
    assert np.allclose(state[:, 3:7], np.roll(quaternions, -1, axis=1), atol=1e-6)
    assert np.allclose(state[:, 7:10], (moved - places) / 1e-5, atol=1e-3)
    assert (state[:, 10:13].norm(dim=-1) > 0.5).all()
    assert torch.equal(env.obs_buf[0, 96:161], state.flatten())


def test_fingertips_feel_the_cube_and_nothing_else():
    free = observed("ShadowHand", *simulated("ShadowHand"))
    assert free.vec_sensor_tensor.abs().max() == 0
    # half a millimetre into the outer half of the straight middle finger, whose tip points along -y
    model, data = simulated("ShadowHand")
    x, y, z = data.body("mfdistal").xpos
    env = observed("ShadowHand", *simulated("ShadowHand", position=(x, y - 0.04, z + 0.0325 + 0.00705 - 0.0005)))
    force, torque = env.vec_sensor_tensor.view(5, 2, 3)[1]
    assert force[2] < -0.1, "the cube presses down"
    # about x: torque = y force_z - z force_y, where they touch at z = 7.05 mm above the finger's middle
    y_touch = (torque[0] + 0.00705 * force[1]) / force[2]
    assert -0.025 < y_touch < -0.007, "the outer half of the fingertip"
    assert torch.equal(env.obs_buf[0, 161:191], env.vec_sensor_tensor[0] * 10.0)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_goal_is_reached_within_a_tenth_of_a_radian(axis):
    goal = quat_mul(about("x", 0.8), about("z", -1.1)).repeat(4, 1)
    turned = torch.stack([quat_mul(about(axis, angle), goal[0]) for angle in (0.0, 0.099, 0.101, math.pi)])
    assert cube_in_hand.at_goal(turned, goal).tolist() == [True, True, False, False]
    assert cube_in_hand.at_goal(-turned, goal).tolist() == [True, True, False, False], "q and -q are the same rotation"


def test_random_rotations_turn_about_x_and_y_by_the_whole_circle():
    noise = torch.tensor([[0.5, 0.5], [0.75, 0.5], [0.5, 0.25], [0.0, 0.5]])
    half = math.sqrt(0.5)
    expected = [[0, 0, 0, 1], [half, 0, 0, half], [0, -half, 0, half], [-1, 0, 0, 0]]
    assert torch.allclose(cube_in_hand.random_rotation(noise), torch.tensor(expected), atol=1e-6)
    many = torch.rand(200, 2, generator=torch.Generator().manual_seed(0))
    product = quat_mul(
        torch.stack([about("x", math.pi * (2 * a - 1)) for a in many[:, 0].tolist()]),
        torch.stack([about("y", math.pi * (2 * b - 1)) for b in many[:, 1].tolist()]),
    )
    assert torch.allclose(cube_in_hand.random_rotation(many), product, atol=1e-5)


def at_its_goal(env: Environment, world: int) -> None:
    """Make this world's goal the rotation that its cube has now."""
    state = env.state_dict()
    state["variables"]["goal_rot"][world] = state["variables"]["object_rot"][world]
    env.load_state_dict(state)


@BOTH
def test_a_goal_that_is_reached_counts_and_gives_way_to_the_next_one(task):
    env = Environment(task, worlds=3, groups=2, seed=4)
    for world in (1, 4):
        at_its_goal(env, world)
    before = env.attributes["goal_rot"].clone()
    idle = torch.zeros(6, env.info.num_actions)
    reached = env.step(idle)
    assert torch.equal(env.attributes["goal_rot"], before), (
        "the reward of this step still sees the goal that was reached"
    )
    assert not reached.metric_counts.any() and reached.metric.tolist() == [0, 1, 0, 0, 1, 0]
    again = env.step(idle)
    after = env.attributes["goal_rot"]
    assert (after != before).any(1).tolist() == [False, True, False] * 2
    assert torch.equal(after[1], after[4]), "both groups get the same next goal"
    assert torch.allclose(after.norm(dim=-1), torch.ones(6))
    assert torch.equal(env.obs_buf[1, -31:], env.obs_buf[1, -31:]) and again.metric.tolist() == [0, 1, 0, 0, 1, 0]


@BOTH
def test_the_metric_is_the_successes_of_the_episodes_that_end(task):
    env = Environment(task, worlds=3, seed=4)
    state = env.state_dict()
    state["variables"]["successes"] = torch.tensor([3.0, 1.0, 7.0])
    state["variables"]["progress_buf"][:2] = env.info.episode_steps - 2
    env.load_state_dict(state)
    step = env.step(torch.zeros(3, env.info.num_actions))
    assert step.truncated.tolist() == step.metric_counts.tolist() == [True, True, False]
    assert step.metric[step.metric_counts].mean().item() == 2.0
    env.reset(step.truncated)
    assert env.state_dict()["variables"]["successes"].tolist() == [0, 0, 7]


@BOTH
@pytest.mark.parametrize(("away", "terminated"), [(0.245, True), (0.235, False)])
def test_a_cube_away_from_its_place_by_24_centimetres_ends_the_episode(task, away, terminated):
    env = Environment(task, worlds=1)
    state, dofs = env.state_dict(), DOFS[task]
    place = env.attributes["goal_pos"][0].double()
    state["physics"][0, 1 + dofs : 4 + dofs] = place + torch.tensor([away, 0.0, 0.0])
    env.load_state_dict(state)
    assert env.step(torch.zeros(1, env.info.num_actions)).terminated.item() is terminated


@BOTH
def test_episodes_begin_with_an_open_hand_and_a_cube_above_it_turned_at_random(task):
    env = Environment(task, worlds=400, seed=2)
    inputs = env.attributes
    lower, upper = inputs["shadow_hand_dof_lower_limits"], inputs["shadow_hand_dof_upper_limits"]
    assert ((inputs["shadow_hand_dof_pos"] >= lower) & (inputs["shadow_hand_dof_pos"] <= upper)).all()
    bend = inputs["shadow_hand_dof_pos"][:, 1] / upper[1]  # a hinge with 0 inside its range
    assert 0.19 < bend.max() <= 0.2001
    beside = inputs["object_pos"] - inputs["goal_pos"] - torch.tensor([0.0, 0.0, 0.04])
    assert (beside.abs() <= 0.0101).all() and (beside.abs().amax(0) > 0.0095).all()
    assert inputs["object_linvel"].abs().max() == inputs["shadow_hand_dof_vel"].abs().max() == 0
    for name in ("object_rot", "goal_rot"):
        assert torch.allclose(inputs[name].norm(dim=-1), torch.ones(400), atol=1e-5)
        # half angles uniform in [-90, 90] degrees: w = cos cos is (2/pi)^2 on average, each square 1/4
        assert torch.allclose(inputs[name].mean(0), torch.tensor([0.0, 0.0, 0.0, 4 / math.pi**2]), atol=0.08)
        assert torch.allclose(inputs[name].square().mean(0), torch.tensor(0.25), atol=0.06)
    assert not torch.allclose(inputs["object_rot"], inputs["goal_rot"], atol=0.05)


@pytest.mark.slow
@BOTH
def test_the_cube_rests_in_a_hand_that_does_nothing(task):
    env = Environment(task, worlds=16, seed=1)
    dropped = torch.zeros(16, dtype=torch.bool)
    for _ in range(round(2.0 / env.info.control_dt)):
        dropped |= env.step(torch.zeros(16, env.info.num_actions)).terminated
    assert dropped.sum() <= 2
    still = env.attributes["object_linvel"].norm(dim=-1) < 0.05
    assert still[~dropped].float().mean() > 0.8
    assert (env.attributes["object_pos"][~dropped, 2] > 0.5).all()


@BOTH
def test_a_group_is_the_same_alone_and_after_a_continuation(task):
    actions = torch.rand(60, 3, catalog.get_task(task).num_actions, generator=torch.Generator().manual_seed(5)) * 2 - 1
    together, alone = Environment(task, worlds=3, groups=2, seed=6), Environment(task, worlds=3, seed=6)
    for step in range(60):
        if step == 20:
            at_its_goal(together, 4)
            at_its_goal(alone, 1)
        if step == 40:
            saved = alone.state_dict()
            alone = Environment(task, worlds=3, seed=99)
            alone.load_state_dict(saved)
        whole, part = together.step(actions[step].roll(1, 0).repeat(2, 1)), alone.step(actions[step].roll(1, 0))
        together.reset(whole.terminated | whole.truncated)
        alone.reset(part.terminated | part.truncated)
        assert torch.equal(alone.obs_buf, together.obs_buf[3:])


@pytest.mark.slow
@BOTH
def test_the_clip_shows_the_goal_beside_the_hand_turned_as_the_cube_should_be(task):
    env = Environment(task, worlds=2, seed=3)
    pose = env.mocap(1)
    assert pose.shape == (1, 7)
    goal = env.attributes["goal_pose"][1].numpy()
    assert np.allclose(pose[0], goal + np.array([*cube_in_hand.GHOST_OFFSET, 0, 0, 0, 0]))
    poses = np.repeat(pose[None], 2, axis=0)
    poses[1, 0, 3:] = quat_mul(about("x", math.pi / 2), torch.from_numpy(poses[0, 0, 3:])).numpy()
    renderer = RolloutRenderer(task)
    rollout = Rollout(task, np.stack([env.qpos(1)] * 2), 1 / 30, np.array([True, False]), poses)
    first, second = (frame.astype(int) for frame in [f.copy() for f in renderer.frames(rollout, 2, 30)])
    renderer.close()
    changed = np.argwhere(np.abs(first - second).max(-1) > 40)
    assert len(changed) > 500, "another side of the goal faces the camera"
    assert changed[:, 1].max() < first.shape[1] / 2, "and nothing else changes: no shadow, no hand"


def reward_by_hand(angle: float, distance: float, action: float, count: int) -> float:
    bonus = 250.0 if angle <= 0.1 else 0.0
    return -10.0 * distance + 1.0 / (angle + 0.1) - 0.0002 * count * action**2 + bonus


@BOTH
@pytest.mark.parametrize("angle", [0.05, 0.5, 3.0])
def test_the_reference_reward_by_hand(task, angle):
    namespace: dict = {}
    exec(catalog.read_reference_reward(task), namespace)  # our own file
    goal, count = quat_mul(about("x", 0.4), about("y", 2.0)), catalog.get_task(task).num_actions
    total, parts = namespace["compute_reward"](
        object_pos=torch.tensor([[0.03, 0.04, 0.5]]),
        object_rot=-quat_mul(about("z", angle), goal)[None],
        goal_pos=torch.tensor([[0.0, 0.0, 0.5]]),
        goal_rot=goal[None],
        actions=torch.full((1, count), 0.5),
    )
    assert total.item() == pytest.approx(reward_by_hand(angle, 0.05, 0.5, count), rel=1e-4)
    assert total.item() == pytest.approx(sum(part.item() for part in parts.values()))


def test_the_last_hinge_of_a_finger_follows_the_one_before_it():
    env = Environment("ShadowHand", worlds=1)
    assert env.model.nu == 20
    for _ in range(60):
        env.step(torch.full((1, 20), 0.4))
    angles = dict(zip([env.model.joint(i).name for i in range(24)], env.qpos(0), strict=False))
    for finger in ("FF", "MF", "RF", "LF"):
        assert angles[f"{finger}J0"] == pytest.approx(angles[f"{finger}J1"], abs=0.05)
        assert angles[f"{finger}J1"] > 0.3
    driven = [env.model.joint(int(joint)).name for joint in env.model.actuator_trnid[:, 0]]
    assert driven[:5] == ["WRJ1", "WRJ0", "FFJ3", "FFJ2", "FFJ1"] and "FFJ0" not in driven


@BOTH
def test_actions_are_angles_between_the_limits(task):
    env = Environment(task, worlds=1)
    lower, upper = bodies.joint_limits(env.model)
    joints = env.model.actuator_trnid[:, 0]
    controlled = TASKS[task](env.model)
    worlds = env._state
    for action, limit in ((-1.0, lower), (1.0, upper), (0.0, (lower + upper) / 2)):
        worlds.actions = torch.full((1, env.model.nu), action)
        assert torch.allclose(controlled.control(worlds)[0], limit[joints])
