"""The offline writer where it is asked to choose, to group, to mutate and to cross."""

import dataclasses
import re

import pytest

from llm.judges import model
from llm.methods.eureka import make_feedback_prompt
from llm.methods.revolve import ByScore, make_breeding_prompt
from llm.methods.scaling import read_groups
from llm.offline import NOTICE, answer
from llm.offline.syntax_tree import Program
from llm.prompts import render
from llm.records import Candidate, Judge, Outcome
from tests.llm.experiment import PROBLEM, row

FAST = """def compute_reward(potentials, prev_potentials, actions):
    progress = potentials - prev_potentials
    progress_reward = 2.0 * progress
    actions_cost = -0.1 * torch.sum(torch.square(actions), dim=-1)
    return progress_reward + actions_cost, {"progress_reward": progress_reward, "actions_cost": actions_cost}
"""
LAZY = """def compute_reward(actions):
    effort = torch.sum(torch.square(actions), dim=-1)
    effort_cost = -1.0 * effort
    return effort_cost, {"effort_cost": effort_cost}
"""


def outcome(name, source):
    program = Program.parse(source)
    trace = {component: row(0.5, 1.0, 2.0) for component in program.components()}
    return Outcome(Candidate(name, source), True, trace=trace, rts=1.0)


@pytest.mark.parametrize("seed", range(6))
def test_a_program_about_the_task_is_best_wherever_it_stands(seed):
    odd = Outcome(Candidate("1-3", "def compute_reward(dt):\n    return dt\n"), True, rts=1.0)
    question = model.make_question(Judge(1, (outcome("1-1", LAZY), outcome("1-2", FAST), odd)), PROBLEM, seed)
    said = answer(question.ask.messages, seed)
    assert said.startswith(NOTICE)
    assert model.read(question, said).best == "1-2" and model.read(question, said).worst == "1-3"


def grouped(*texts):
    listed = "\n\n".join(f"## Number {n}\n\n{text}" for n, text in enumerate(texts, 1))
    said = answer([{"role": "user", "content": render("vote", problem="?", entries=listed)}], 1)
    assert said.startswith(NOTICE)
    return read_groups(said, len(texts))


def test_answers_with_the_same_words_are_equivalent():
    assert grouped("x = 3 or 4", "y = 7", "4 or 3 = X") == [[1, 3], [2]]
    assert grouped("a b c d e", "a b c d", "a b") == [[1, 2], [3]]


@pytest.mark.parametrize("seed", range(8))
def test_a_mutant_keeps_most_of_its_parent(seed):
    said = answer(make_breeding_prompt(PROBLEM, [outcome("1-1", FAST)], ByScore(), False), seed)
    child = Program.parse(re.search(r"```python\n(.*)```", said, re.DOTALL)[1])
    assert said.startswith(NOTICE) and child.source != FAST
    assert set(child.components()) & {"progress_reward", "actions_cost"}


@pytest.mark.parametrize("seed", range(4))
def test_a_child_of_two_has_what_the_second_cares_about(seed):
    second = FAST.replace("actions_cost", "height_reward").replace(
        "-0.1 * torch.sum(torch.square(actions), dim=-1)", "0.5 * root_states[:, 2]"
    )
    second = second.replace("potentials, prev_potentials, actions", "potentials, prev_potentials, root_states")
    said = answer(make_breeding_prompt(PROBLEM, [outcome("1-1", LAZY), outcome("1-2", second)], ByScore(), False), seed)
    child = Program.parse(re.search(r"```python\n(.*)```", said, re.DOTALL)[1])
    assert "effort_cost" in child.components() and len(child.components()) >= 2


def begun_again(*scores):
    """Of six answers to Eureka's prompt, how many do not start from the program shown."""
    shown = dataclasses.replace(outcome("1-1", FAST), rts=max(scores), metric_trace=row(*scores))
    return sum("A first program" in answer(make_feedback_prompt(PROBLEM, 1, shown), seed) for seed in range(6))


def test_a_task_score_that_never_rose_makes_every_other_answer_begin_again():
    assert begun_again(0.0, 0.0, 0.0) == begun_again(2.0, 1.0, 1.5) == 3
    assert begun_again(0.0, 1.0, 2.0) == 0
