"""Compiling a reward, what rewriting changes and what it must not."""

from __future__ import annotations

import inspect
import math
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from simulation import catalog
from simulation.environment import Environment
from simulation.rewards import allowed, contract, guards, helpers
from simulation.rewards.contract import RewardFailure, compile_reward
from simulation.rewards.parsing import Refused
from simulation.rewards.verdict import REASON_LETTERS
from tests.simulation.good_rewards import GOOD

ALL_GOOD = [(task, name) for task, rewards in GOOD.items() for name in rewards]


def reward(*lines: str, arguments: str = "dof_pos, dof_vel") -> str:
    return f"def compute_reward({arguments}):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.fixture
def inputs() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(8, 2, generator=generator) for name in ("dof_pos", "dof_vel")}


@pytest.fixture(scope="module")
def environments() -> dict[str, Environment]:
    found = {}
    for task in catalog.list_tasks():
        found[task] = Environment(task, worlds=8, seed=3)
        for _ in range(3):
            found[task].step(torch.rand(8, found[task].info.num_actions) * 2 - 1)
    return found


def plainly(source: str, values: dict[str, Any]) -> tuple[Tensor, dict[str, Tensor]]:
    """The same source under plain exec with the real torch: what rewriting must not change."""
    scope: dict[str, Any] = {"torch": torch, "math": math, "Tensor": Tensor, **helpers.HELPERS}
    exec("from typing import *\nimport torch.nn.functional as F\n" + source.replace("@torch.jit.script", ""), scope)
    function = scope["compute_reward"]
    copies = {n: v.clone() if isinstance(v, Tensor) else v for n, v in values.items()}
    return function(*[copies[name] for name in inspect.signature(function).parameters])


@pytest.mark.parametrize(("task", "name"), [*ALL_GOOD, *((task, "reference") for task in catalog.list_tasks())])
def test_it_computes_what_the_source_says(task: str, name: str, environments: dict[str, Environment]):
    source = catalog.read_reference_reward(task) if name == "reference" else GOOD[task][name]
    values = environments[task].attributes
    total, components = compile_reward(source, task)(values)
    expected_total, expected = plainly(source, values)
    torch.testing.assert_close(total, expected_total)
    assert list(components) == list(expected)
    for key, value in expected.items():
        torch.testing.assert_close(components[key], value)


def test_inputs_are_never_changed(inputs: dict[str, Tensor]):
    before = {name: value.clone() for name, value in inputs.items()}
    source = reward(
        "x = dof_pos",
        "x[:, 0] = 7.0",
        "y = dof_vel[:, 1]",
        "y += 3.0",
        "z = dof_vel.view(-1)[0:8]",
        "z[1:3] *= 2.0",
        'return x[:, 0] + y, {"y": y, "z": z}',
    )
    total, components = compile_reward(source, "Cartpole")(inputs)
    assert all(torch.equal(inputs[name], before[name]) for name in inputs)
    torch.testing.assert_close(total, 7.0 + before["dof_vel"][:, 1] + 3.0)
    expected = before["dof_vel"].view(-1)[0:8].clone()
    expected[1:3] *= 2.0
    torch.testing.assert_close(components["z"], expected)


def test_dictionaries_and_lists_are_filled_in_place(inputs: dict[str, Tensor]):
    source = reward(
        "parts = {}",
        "columns = []",
        "for i in range(2):",
        "    columns.append(dof_pos[:, i] * i)",
        'parts["b"] = columns[1]',
        'parts["b"] += 1',
        "parts = {name: value * 1.0 for name, value in parts.items()}",
        "total = sum([c ** 2 for c in columns])",
        "return total, parts",
    )
    total, components = compile_reward(source, "Cartpole")(inputs)
    torch.testing.assert_close(total, inputs["dof_pos"][:, 1] ** 2)
    torch.testing.assert_close(components["b"], inputs["dof_pos"][:, 1] + 1)


def test_a_failure_names_the_line(inputs: dict[str, Tensor]):
    source = "import torch\n\n" + reward("# a comment", "x = dof_pos @ dof_vel", "return x, {}")
    with pytest.raises(RewardFailure, match=r"RuntimeError: .* in line 5: x = dof_pos @ dof_vel") as failure:
        compile_reward(source, "Cartpole")(inputs)
    assert failure.value.stage == "run"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ("dof_pos[:, 0]", "it must return (total, components), a pair; it returned a Tensor"),
        ("dof_pos, {}", "the total has shape (8, 2), expected (8,)"),
        ('dof_pos[:, 0], {"x": dof_vel[:, 0:1]}', "component 'x' has shape (8, 1), expected (8,): one value per world"),
        ('dof_pos[:, 0], {"x": 1.0}', "component 'x' is a float, expected a tensor of shape (8,)"),
        ("(dof_pos[:, 0] > 0), {}", "the total has dtype torch.bool, expected a float: use .float()"),
        ('dof_pos[:, 0], {"x": dof_pos[:, 0] / 0.0}', "component 'x': infinite values"),
        ('dof_pos[:, 0] * float(0.0) / 0.0, {"x": dof_pos[:, 0]}', "the total: NaN"),
        ('dof_pos[:, 0], {"episode_length": dof_pos[:, 0]}', "a component cannot be named 'episode_length'"),
    ],
)
def test_the_contract_is_checked_on_every_call(result: str, reason: str, inputs: dict[str, Tensor]):
    with pytest.raises(RewardFailure) as failure:
        compile_reward(reward(f"return {result}"), "Cartpole")(inputs)
    assert reason in str(failure.value)
    assert failure.value.stage == "contract"


def test_double_precision_becomes_single(inputs: dict[str, Tensor]):
    total, components = compile_reward(reward("x = dof_pos[:, 0].double()", 'return x, {"x": x}'), "Cartpole")(inputs)
    assert total.dtype == components["x"].dtype == torch.float32


def test_too_many_components_are_refused(inputs: dict[str, Tensor]):
    lines = [f'd["c{i}"] = dof_pos[:, 0]' for i in range(allowed.MAX_COMPONENTS + 1)]
    with pytest.raises(RewardFailure, match="33 components; 32 are allowed"):
        compile_reward(reward("d = {}", *lines, "return dof_pos[:, 0], d"), "Cartpole")(inputs)


def test_what_does_not_compile_is_refused():
    with pytest.raises(Refused, match="duplicate argument") as refused:
        compile_reward("def compute_reward(dof_pos, dof_pos): return dof_pos, {}", "Cartpole")
    assert refused.value.stage == "compile"


def test_a_compiled_reward_sees_only_stand_ins():
    scope = compile_reward(GOOD["Cartpole"]["cosine"], "Cartpole").function.__globals__
    assert set(scope["__builtins__"]) == allowed.BUILTINS | {"__import__"}
    assert not hasattr(scope["torch"], "save") and not hasattr(scope["torch"], "ops")
    with pytest.raises(ImportError):
        scope["__builtins__"]["__import__"]("os")


@pytest.mark.parametrize(
    ("call", "allocates"),
    [
        (lambda: guards.call_allocating(torch.zeros, 1 << 14, 1 << 13), True),
        (lambda: guards.call_allocating(torch.zeros, (64, 3)), False),
        (lambda: guards.call_allocating(torch.full, (64,), 1_000_000_000), False),
        (lambda: guards.call_allocating(torch.full, size=(1 << 27,), fill_value=1.0), True),
        (lambda: guards.call_allocating(torch.zeros(64, 3).repeat, 1, 2), False),
        (lambda: guards.call_allocating(torch.zeros(64, 3).repeat, 1 << 20, 1), True),
        (lambda: guards.call_allocating(torch.zeros(64).repeat_interleave, torch.tensor(1 << 25)), True),
        (lambda: guards.call_allocating(torch.zeros(64, 1).expand, -1, 3), False),
        (lambda: guards.call_allocating(torch.zeros(1 << 14, 1).expand, 1 << 14, 3), False),  # a whole horizon's worlds
        (lambda: guards.call_allocating(torch.zeros(1 << 14, 1).expand, (1 << 14, 1 << 13)), True),
        (lambda: guards.call_allocating(torch.zeros(1, 1 << 14).expand, 1 << 13, -1), True),
        (lambda: guards.call_allocating(torch.zeros(1 << 14, 13).new_zeros, (1 << 14, 3)), False),
        (lambda: guards.call_allocating(torch.zeros(1 << 14, 13).new_ones, 1 << 14, 1 << 13), True),
        (lambda: guards.call_allocating(torch.zeros(1 << 14, 13).new_full, (1 << 14,), 2.0), False),
        (lambda: guards.call_allocating(torch.arange, 5), False),
    ],
)
def test_allocations_are_bounded(call: Any, allocates: bool):
    if not allocates:
        call()
        return
    with pytest.raises(ValueError, match="would allocate more than"):
        call()


def test_quaternion_functions_agree_with_the_formula():
    generator = torch.Generator().manual_seed(1)
    a, b = (helpers.quat_unit(torch.randn(32, 4, generator=generator)) for _ in range(2))
    v = torch.randn(32, 3, generator=generator)
    w, xyz = a[:, 3:], a[:, :3]
    by_hand = v * (2.0 * w**2 - 1.0) + 2.0 * w * torch.cross(xyz, v, dim=-1)
    by_hand += 2.0 * xyz * (xyz * v).sum(-1, keepdim=True)
    torch.testing.assert_close(helpers.quat_rotate(a, v), by_hand)
    torch.testing.assert_close(helpers.quat_rotate_inverse(a, helpers.quat_apply(a, v)), v)
    product = helpers.quat_mul(a, b)
    torch.testing.assert_close(helpers.quat_apply(product, v), helpers.quat_apply(a, helpers.quat_apply(b, v)))
    angle = torch.linspace(0.1, 3.0, 32)
    turned = helpers.quat_mul(helpers.quat_from_angle_axis(angle, v), a)
    torch.testing.assert_close(helpers.quat_diff_rad(turned, a), angle, atol=2e-3, rtol=0)
    about_z = helpers.quat_from_angle_axis(angle, torch.tensor([[0.0, 0.0, 1.0]]).expand(32, 3))
    torch.testing.assert_close(helpers.get_euler_xyz(about_z)[2], angle)


def test_frames_and_angles_agree_with_the_rotations_that_they_come_from():
    generator = torch.Generator().manual_seed(2)
    a, b = (helpers.quat_unit(torch.randn(32, 4, generator=generator)) for _ in range(2))
    s, t, v = torch.randn(3, 32, 3, generator=generator)
    there = helpers.tf_apply(a, s, v)
    torch.testing.assert_close(there, helpers.quat_rotate(a, v) + s)
    torch.testing.assert_close(helpers.tf_apply(*helpers.tf_inverse(a, s), there), v)
    both = helpers.tf_combine(a, s, b, t)
    torch.testing.assert_close(helpers.tf_apply(*both, v), helpers.tf_apply(a, s, helpers.tf_apply(b, t, v)))
    angles = [torch.linspace(low, high, 32) for low, high in ((0.1, 6.2), (-1.5, 1.5), (6.0, 0.2))]
    from_angles = helpers.quat_from_euler_xyz(*angles)
    roll, pitch, yaw = helpers.get_euler_xyz(from_angles)
    torch.testing.assert_close(torch.stack((roll, helpers.normalize_angle(pitch), yaw)), torch.stack(angles))
    torch.testing.assert_close(
        helpers.calc_heading(from_angles), helpers.normalize_angle(angles[2]), atol=1e-5, rtol=1e-5
    )
    angle, axis = helpers.quat_to_angle_axis(a)
    turned = helpers.quat_from_angle_axis(angle, axis)
    torch.testing.assert_close(helpers.quat_rotate(turned, v), helpers.quat_rotate(a, v))
    still = helpers.quat_to_angle_axis(torch.tensor([[0.0, 0.0, 0.0, 1.0]]))
    assert (still[0].tolist(), still[1].tolist()) == ([0.0], [[0.0, 0.0, 1.0]])
    lower, upper = torch.tensor([-1.0, 0.0]), torch.tensor([3.0, 0.5])
    assert helpers.unscale(lower, lower, upper).tolist() == [-1, -1]
    assert helpers.scale(torch.ones(2), lower, upper).tolist() == upper.tolist()


@pytest.mark.parametrize(
    ("device", "stage", "reason"), [("cuda", "run", "AssertionError: Torch not"), ("meta", "contract", "device meta, ")]
)
def test_another_device_by_way_of_a_component_s_name_is_a_failure_of_the_reward_alone(inputs, device, stage, reason):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("that device is there")
    lines = [f"names = {{{device!r}: dof_pos}}", "for name in names.keys():", "    total = dof_pos[:, 0].to(name)"]
    with pytest.raises(RewardFailure, match=reason) as failure:
        compile_reward(reward(*lines, "return total, {'x': dof_vel[:, 0]}"), "Cartpole")(inputs)
    assert failure.value.stage == stage


def test_a_slow_call_fails_and_leaves_no_timer(inputs: dict[str, Tensor], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(contract, "CALL_SECONDS", 0.05)
    loops = ["x = torch.ones(200, 200)", "for i in range(64):", "    for j in range(64):", "        x = x @ x / 200.0"]
    with pytest.raises(RewardFailure, match="more than 0.05 s of processor time") as failure:
        compile_reward(reward(*loops, "return dof_pos[:, 0], {}"), "Cartpole")(inputs)
    assert failure.value.stage == "limits"
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    compile_reward(reward("return dof_pos[:, 0], {}"), "Cartpole")(inputs)
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_an_error_that_cannot_be_told_is_a_failure_of_the_reward_alone(inputs: dict[str, Tensor]):
    grow = ["x = 1", *("for i in range(64):", "    for j in range(64):", "        x = x + x") * 5]
    compiled = compile_reward(reward(*grow, "d = {}", "return d[x], {}"), "Cartpole")
    with pytest.raises(RewardFailure, match="KeyError: no further message in line 19"):
        compiled(inputs)


def test_a_long_reason_is_cut(inputs: dict[str, Tensor]):
    lines = [f'd["{"x" * 60}{i}"] = dof_pos[:, 0] / 0.0' for i in range(20)]
    with pytest.raises(RewardFailure) as failure:
        compile_reward(reward("d = {}", *lines, "return dof_pos[:, 0], d"), "Cartpole")(inputs)
    assert len(str(failure.value)) == REASON_LETTERS and str(failure.value).endswith(" ...")


def test_a_name_cannot_be_doubled(inputs: dict[str, Tensor]):
    double = ["for name in {'a component': 0}:", "    for i in range(18):", "        name = name + name"]
    with pytest.raises(RewardFailure, match="texts cannot be added"):
        compile_reward(reward(*double, "return dof_pos[:, 0], {}"), "Cartpole")(inputs)


@pytest.mark.parametrize("value", [torch.zeros(8), 1.0])
def test_a_name_as_if_doubled_18_times_gives_a_short_reason(value: Any, inputs: dict[str, Tensor]):
    name = "a component" * 2**18
    function = contract.RewardFunction((), "dof_pos", (), lambda: (torch.zeros(8), {name: value}))
    with pytest.raises(RewardFailure, match="a component cannot be named") as failure:
        function(inputs)
    assert len(str(failure.value)) <= REASON_LETTERS
    assert len(str(RewardFailure(f"its name is {name}"))) == REASON_LETTERS


def test_a_gpu_without_memory_left_is_a_limit_not_an_error_of_the_code(
    inputs: dict[str, Tensor], monkeypatch: pytest.MonkeyPatch
):
    def exhausted(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(contract, "_call_within_time", exhausted)
    with pytest.raises(RewardFailure, match="CUDA out of memory") as failure:
        compile_reward(reward("return dof_pos[:, 0], {}"), "Cartpole")(inputs)
    assert failure.value.stage == "limits"


def test_it_can_be_called_in_another_thread(inputs: dict[str, Tensor]):
    compiled = compile_reward(reward("return dof_pos[:, 0], {}"), "Cartpole")
    with ThreadPoolExecutor(1) as pool:
        total, _ = pool.submit(compiled, inputs).result()
    assert torch.equal(total, inputs["dof_pos"][:, 0])
