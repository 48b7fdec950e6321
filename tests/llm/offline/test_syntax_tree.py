import ast
import random

import pytest

from llm.offline.drafting import Component, make_component
from llm.offline.quantities import LESS, MORE, Quantity
from llm.offline.syntax_tree import Program, join_terms, list_terms, scale_node

OURS = """\
def compute_reward(
    speed: torch.Tensor,
    up: torch.Tensor,
    actions: torch.Tensor,
) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    speed_temperature = 0.5
    fast = 2.0 * torch.tanh(speed / speed_temperature)
    upright = up[:, 2]
    cost = -0.1 * torch.sum(actions ** 2, dim=-1) / 0.3
    total = fast + upright + cost
    return total, {
        "fast": fast,
        "upright": upright,
        "cost": cost,
    }
"""
ANOTHERS = """\
def compute_reward(speed: Tensor, up: Tensor, actions: Tensor):
    # weights at the end, the total in steps, the dictionary in a variable
    fast = speed
    upright = torch.clamp(up[:, 2], 0.0, 0.95)
    total = 1.5 * fast
    total += 0.25 * upright
    parts = {"fast": fast, "upright": upright}
    return total, parts
"""
INPUTS = {"speed": "Tensor (num_envs,)", "up": "Tensor (num_envs, 3)", "actions": "Tensor (num_envs, 8)", "dt": "float"}
HEIGHT = Quantity("height", "up[:, 1] * dt", MORE, 1.0, frozenset())


def parsed(source=OURS):
    program = Program.parse(source)
    assert program is not None
    return program


def numbers(source, speed=2.0, up=0.5, effort=3.0):
    """Run a program with plain numbers in place of tensors: total and components."""

    class Torch:
        Tensor = float
        tanh = staticmethod(lambda x: x / 10)
        clamp = staticmethod(lambda x, low, high: min(max(x, low), high))
        sum = staticmethod(lambda x, dim: x)
        exp = staticmethod(lambda x: x)

    class Rows(float):
        def __getitem__(self, index):
            return float(self)

    space = {"torch": Torch, "Tensor": float, "Tuple": tuple, "Dict": dict}
    exec(source.replace("Tuple[torch.Tensor, Dict[str, torch.Tensor]]", "tuple"), space)
    arguments = {"speed": speed, "up": Rows(up), "actions": effort, "dt": 0.5}
    names = [a.arg for a in parsed(source).function.args.args]
    return space["compute_reward"](*(arguments[n] for n in names))


def test_the_layout_is_a_fixed_point():
    assert parsed().source == OURS
    once = parsed(ANOTHERS).source
    assert parsed(once).source == once
    assert numbers(once) == numbers(ANOTHERS)


def test_long_sums_are_broken_between_terms_and_mean_the_same():
    names = [f"a_rather_long_component_name_{i}" for i in range(6)]
    body = "".join(f"    {n} = {i}.5 * speed\n" for i, n in enumerate(names))
    total = " - ".join(names)
    source = f"def compute_reward(speed: Tensor):\n{body}    total = {total}\n    return total, {{}}\n"
    printed = parsed(source).source
    assert max(len(line) for line in printed.splitlines()) < 100
    assert numbers(printed) == numbers(source)


@pytest.mark.parametrize(
    "source",
    [
        "def other(a):\n    return a, {}\n",
        "def compute_reward(a):\n    return a\n",
        "def compute_reward(a):\n    x = a\n",
        "def compute_reward(a=1):\n    return a, {}\n",
        "x = 1\ndef compute_reward(a):\n    return a, {}\n",
        "def compute_reward(a:\n",
    ],
)
def test_what_it_cannot_edit_it_does_not_parse(source):
    assert Program.parse(source) is None


def test_it_knows_the_components_and_what_they_read():
    program = parsed()
    assert list(program.components()) == ["fast", "upright", "cost"]
    assert program.reads("fast") == {"speed"}
    assert program.reads("upright") == {"up[:, 2]"}
    assert list(parsed(ANOTHERS).components()) == ["fast", "upright"]


def test_scaling_multiplies_component_and_total():
    total, parts = numbers(OURS)
    program = parsed()
    assert program.scale("cost", 3.0)
    new_total, new_parts = numbers(program.source)
    assert new_parts["cost"] == pytest.approx(3 * parts["cost"])
    assert new_total == pytest.approx(total + 2 * parts["cost"])
    assert "-0.3 * torch.sum" in program.source  # merged into the number that was there


def test_scaling_works_on_programs_of_other_authors():
    total, parts = numbers(ANOTHERS)
    program = parsed(ANOTHERS)
    assert program.scale("upright", 2.0)
    assert numbers(program.source)[0] == pytest.approx(total + 0.25 * parts["upright"])


def test_scaling_an_expression_in_the_dictionary_is_refused():
    program = parsed('def compute_reward(a: Tensor):\n    return a, {"a": 2.0 * a}\n')
    assert not program.scale("a", 2.0) and not program.scale("unknown", 2.0)


def test_dropping_takes_component_term_variables_and_arguments():
    total, parts = numbers(OURS)
    program = parsed()
    assert program.drop("fast")
    new_total, new_parts = numbers(program.source)
    assert new_total == pytest.approx(total - parts.pop("fast"))
    assert new_parts == pytest.approx(parts)
    assert "speed" not in program.source


def test_the_last_component_and_unknown_totals_are_not_dropped():
    program = parsed()
    assert program.drop("fast") and program.drop("cost")
    assert not program.drop("upright")
    assert not parsed(ANOTHERS).drop("fast")  # its total is written in steps


@pytest.mark.parametrize("source", [OURS, ANOTHERS])
def test_adding_puts_component_term_and_argument(source):
    total, parts = numbers(source)
    program = parsed(source)
    assert program.add(Component(HEIGHT, "linear", 4.0, 1.0), INPUTS)
    new_total, new_parts = numbers(program.source)
    assert new_parts == pytest.approx(parts | {"height_reward": 4.0 * 0.5 * 0.5})
    assert new_total == pytest.approx(total + 1.0)
    assert "dt: float" in program.source
    assert not program.add(Component(HEIGHT, "linear", 4.0, 1.0), INPUTS)  # its name is taken


def test_adding_to_a_returned_expression():
    program = parsed('def compute_reward(speed: Tensor):\n    return 2.0 * speed, {"speed": speed}\n')
    assert program.add(Component(HEIGHT, "linear", 1.0, 1.0), INPUTS)
    assert numbers(program.source)[0] == pytest.approx(4.0 + 0.25)


def test_numbers_that_are_part_of_a_formula_are_not_moved():
    source = (
        "def compute_reward(a: Tensor, b: Tensor):\n"
        "    w = 2.0\n    t = 0.5\n"
        "    x = 1.0 * w * torch.exp(-(2.0 * a - 1.0) ** 2.5 / t) * 3.0\n"
        "    y = torch.where(a > 0.93, 0.1 * b[:, 2], torch.clamp(b[:, 1], min=0.7))\n"
        "    return x + y, {'x': x, 'y': y}\n"
    )
    assert sorted(c.value for _, c in parsed(source).constants()) == [0.1, 0.5, 1.0, 2.0, 3.0]


def test_temperatures_of_a_component():
    assert [c.value for c in parsed().temperatures("fast")] == [0.5]
    assert parsed().temperatures("cost") == []


@pytest.mark.parametrize("text", ["a + b - c", "a - (b - c)", "a - (b + c) + d", "-a + b"])
def test_terms_and_joined_are_inverse(text):
    node = ast.parse(text, mode="eval").body
    again = ast.unparse(ast.fix_missing_locations(join_terms(list_terms(node))))
    values = {"a": 1, "b": 10, "c": 100, "d": 1000}
    assert eval(again, values) == eval(text, values)


@pytest.mark.parametrize(
    "text", ["2.0 * a", "-2.0 * a / 3.0", "a", "2.0 * a * b", "a + b", "4.0 / a", "3 * a", "1 - a"]
)
def test_scaled_multiplies(text):
    node = ast.parse(text, mode="eval").body
    again = ast.unparse(ast.fix_missing_locations(scale_node(node, 2.5)))
    values = {"a": 3.0, "b": 5.0}
    assert eval(again, values) == pytest.approx(2.5 * eval(text, values))


def test_costs_are_negative_and_rewards_positive():
    rng = random.Random(0)
    cost = make_component(rng, Quantity("effort", "actions", LESS, 1.0, frozenset()), 0.3, "cost")
    assert cost.weight == -0.3 and cost.name == "effort_cost"
    assert make_component(rng, HEIGHT, 0.3).name == "height_reward"
