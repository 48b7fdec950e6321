"""The offline writer's answers to RF-Agent's prompts: each move does what its name says."""

import ast
import random

import pytest

from llm import extract
from llm.methods.rf_agent import actions, read_rating, tree
from llm.methods.rf_agent.tree import Node
from llm.offline import answer
from llm.offline.syntax_tree import Program
from llm.records import Candidate, Outcome
from tests.llm.experiment import PROBLEM, row

PARENT = """\
def compute_reward(root_states: torch.Tensor, up_vec: torch.Tensor, actions: torch.Tensor):
    forward_speed = root_states[:, 7]
    forward_speed_reward = 1.5 * forward_speed
    upright = up_vec[:, 2]
    upright_temperature = 0.6
    upright_reward = 0.4 * torch.exp((upright - 1.0) / upright_temperature)
    effort_cost = -0.05 * torch.mean(torch.square(actions), dim=-1)
    total_reward = forward_speed_reward + upright_reward + effort_cost
    return total_reward, {
        "forward_speed_reward": forward_speed_reward,
        "upright_reward": upright_reward,
        "effort_cost": effort_cost,
    }
"""
ELITE = """\
def compute_reward(potentials: torch.Tensor, prev_potentials: torch.Tensor, dof_vel: torch.Tensor):
    progress_reward = 2.0 * (potentials - prev_potentials)
    joint_speed_cost = -0.01 * torch.mean(torch.square(dof_vel), dim=-1)
    total_reward = progress_reward + joint_speed_cost
    return total_reward, {"progress_reward": progress_reward, "joint_speed_cost": joint_speed_cost}
"""
TRACES = {
    PARENT: {"forward_speed_reward": row(0.1, 2.0), "upright_reward": row(0.2, 0.4), "effort_cost": row(-0.02, -0.03)},
    ELITE: {"progress_reward": row(0.5, 4.0), "joint_speed_cost": row(-0.3, -0.2)},
}


def node(name, source, parent, score):
    outcome = Outcome(Candidate(name, source), True, trace=TRACES[source], metric_trace=row(0.0, score), rts=score)
    made = Node(outcome, "a thought", parent, score=score)
    made.verdicts = [actions.format_score(outcome)]
    parent.children.append(made)
    return made


def family(first=1.0, second=2.0):
    """The parent under the elite, and another branch; and the root."""
    root = Node()
    above = node("1-1", ELITE, root, first)
    node("1-2", ELITE, root, 0.5)
    return root, node("2-1", PARENT, above, second)


def asked(action, seed, root=None, parent=None):
    if root is None:
        root, parent = family()
    messages = actions.expand_prompt(PROBLEM, random.Random(0), root, parent, action, True).messages
    said = answer(messages, seed)
    return said, Program.parse(extract.find_source(said))


def skeleton(program):
    """The program without the values of its numbers."""
    tree = ast.parse(program.source)
    for part in ast.walk(tree):
        if isinstance(part, ast.Constant) and isinstance(part.value, int | float):
            part.value = 0
    return ast.dump(tree).replace("UnaryOp(op=USub(), operand=Constant(value=0))", "Constant(value=0)")


@pytest.mark.parametrize("seed", range(6))
def test_parameters_leave_the_structure(seed):
    said, program = asked(actions.PARAMETERS, seed)
    assert skeleton(program) == skeleton(Program.parse(PARENT))
    assert program.source != Program.parse(PARENT).source
    assert "all numbers moved" in said


@pytest.mark.parametrize("seed", range(6))
def test_structure_changes_the_components(seed):
    said, program = asked(actions.STRUCTURE, seed)
    before, after = set(Program.parse(PARENT).components()), set(program.components())
    assert len(before ^ after) == 1
    assert ("without `" in said) == (len(after) < len(before))


@pytest.mark.parametrize("seed", range(4))
def test_crossover_joins_what_both_care_about(seed):
    _, program = asked(actions.CROSSOVER, seed)
    assert {"forward_speed_reward", "upright_reward"} <= set(program.components())
    read = {name for component in program.components() for name in program.reads(component)}
    assert {"potentials", "prev_potentials"} <= read and "up_vec[:, 2]" in read


def test_a_gain_along_the_path_goes_on_from_the_parent_and_a_loss_goes_back():
    gained, program = asked(actions.PATH, 1, *family(first=1.0, second=2.0))
    assert "further on" in gained and "upright_reward" in program.components()
    lost, program = asked(actions.PATH, 1, *family(first=3.0, second=2.0))
    assert "back to the step before" in lost and "progress_reward" in program.components()


@pytest.mark.parametrize("seed", range(4))
def test_a_different_form_shares_less_than_a_mutation(seed):
    _, program = asked(actions.DIFFERENT, seed)
    assert set(program.components()) != set(Program.parse(PARENT).components())
    assert skeleton(program) != skeleton(Program.parse(PARENT))


def test_every_answer_begins_with_a_thought_in_words():
    for action in dict.fromkeys(actions.EXPANSION):
        said, _ = asked(action, 3)
        thought = extract.find_thought(said)
        assert "The reward sums" in thought and "Against its parent:" in thought and "def " not in thought


def test_the_restated_thought_speaks_of_what_the_code_does():
    _, parent = family()
    said = answer(actions.align_prompt(PROBLEM, parent), 0)
    assert "3 components" in said and "as much as possible of forward speed" in said and "less effort" in said


def test_the_rating_is_the_goals_share_of_the_reward():
    _, parent = family()
    said = answer(actions.verify_prompt(PROBLEM, parent), 0)
    # weights: 1.5 for the goal, 0.4 and 0.05 for the others
    assert read_rating(said) == pytest.approx(2 * 1.5 / 1.95 - 1, abs=0.01)
    aimless = PARENT.replace("root_states[:, 7]", "root_states[:, 9]").replace("forward_speed", "vertical_speed")
    TRACES[aimless] = {}
    wrong = node("3-1", aimless, Node(), 0.0)
    assert read_rating(answer(actions.verify_prompt(PROBLEM, wrong), 0)) < 0


def test_a_program_that_rules_cannot_take_apart_still_gets_an_answer():
    odd = "def compute_reward(up_vec: torch.Tensor):\n    return tuple([up_vec[:, 2], {}])\n"
    TRACES[odd] = {}
    root = Node()
    parent = node("1-1", odd, root, 1.0)
    for action in dict.fromkeys(actions.EXPANSION):
        messages = actions.expand_prompt(PROBLEM, random.Random(0), root, parent, action, True).messages
        assert extract.find_source(answer(messages, 1)) is not None
    assert read_rating(answer(actions.verify_prompt(PROBLEM, parent), 0)) == 0.0
    assert tree.list_elites(root, parent) == []
