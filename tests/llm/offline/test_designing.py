"""The offline writer's answers to RDA's prompts, and the offline analyst's judgement of recorded numbers."""

import re

import pytest

from llm import extract
from llm.methods.rda import prompts
from llm.methods.rda.analysis import read_analysis
from llm.methods.rda.subtasks import read_subtasks, revise_subtasks
from llm.offline import NOTICE, answer
from llm.offline.analyst import LABEL
from llm.offline.syntax_tree import Program
from llm.records import Candidate, Outcome, Problem
from simulation import catalog
from tests.llm.experiment import PROBLEM, row

SUBTASKS = (
    "Keep going: the episode does not end early",
    "Hold upright: upright stays near its best value",
    "Begin forward speed: forward speed rises at the beginning already",
    "Success: run forward as fast as possible",
)
SOURCE = """\
def compute_reward(root_states: torch.Tensor, up_vec: torch.Tensor):
    forward_speed_reward = 1.5 * root_states[:, 7]
    upright_reward = 0.4 * up_vec[:, 2]
    total_reward = forward_speed_reward + upright_reward
    return total_reward, {"forward_speed_reward": forward_speed_reward, "upright_reward": upright_reward}
"""


def states(falls=0, upright=0.98):
    return {
        "seconds": 10.0,
        "falls": falls,
        "coordinates": [_coordinate("height", 0.6), _coordinate("upright", upright)],
    }


def _coordinate(name, mean):
    return {"name": name, **dict.fromkeys(("start", "end", "mean", "min", "max", "travel", "speed"), mean)}


def judged(trace, film=None):
    outcome = Outcome(Candidate("1-1", SOURCE), True, trace=trace, states=film or {})
    said = answer(prompts.make_analysis_prompt(PROBLEM, SUBTASKS, outcome, 0), 0)
    assert NOTICE in said and LABEL in said
    return read_analysis(said, len(SUBTASKS))


RISING = {"forward_speed_reward": row(0.1, 1.0, 2.0), "upright_reward": row(0.3, 0.39, 0.4)}


def test_what_rises_and_stays_up_is_done():
    findings = judged({**RISING, "episode_length": row(1000.0, 1000.0)}, states())
    assert [f.score for f in findings] == [1, 1, 1, 1]
    assert "restarted 0 times" in findings[0].behaviour and "goes from 0.1 to 2" in findings[2].behaviour


@pytest.mark.parametrize(("falls", "score"), [(0, 1), (1, 0.5), (2, 0.5), (3, 0)])
def test_falls_in_the_film_count_against_keeping_going(falls, score):
    assert judged(RISING, states(falls))[0].score == score


@pytest.mark.parametrize(("upright", "score"), [(0.97, 1), (0.7, 0.5), (-0.2, 0)])
def test_the_film_says_whether_it_is_upright(upright, score):
    assert judged(RISING, states(upright=upright))[1].score == score


def test_without_a_film_episode_lengths_and_components_speak():
    lasting = judged({**RISING, "episode_length": row(500.0, 500.0)})
    assert lasting[0].score == 1
    growing = judged({**RISING, "episode_length": row(50.0, 300.0)})
    assert growing[0].score == 0.5
    falling = judged({"forward_speed_reward": row(2.0, 0.1), "upright_reward": row(0.4, 0.4)})
    assert [f.score for f in falling] == [0.5, 0.5, 0, 0]
    assert falling[2].evidence == "" and "has fallen" in falling[2].reason


@pytest.mark.parametrize("task", catalog.list_tasks())
def test_every_task_has_subtasks_and_a_bounded_component_for_those_that_can_be_measured(task):
    info = catalog.get_task(task)
    problem = Problem(task, info.description, catalog.read_observation_source(task), info.inputs)
    known = read_subtasks(answer(prompts.make_subtasks_prompt(problem), 0), info.description)
    assert 4 <= len(known) <= 10 and known[-1].startswith("Success: ") and known[0].startswith("Keep going")
    for seed in range(3):
        said = answer(prompts.make_reward_prompt(problem, known), seed)
        program = Program.parse(extract.find_source(said))
        names = list(program.components())
        assert names[-1] == "success_bonus_reward" and len(names) >= 2
        numbers = [int(re.match(r"subtask_(\d+)_", name)[1]) for name in names[:-1]]
        assert numbers == sorted(set(numbers)) and max(numbers) < len(known)
        assert any("alive" not in name for name in names[:-1])
    alone = Program.parse(extract.find_source(answer(prompts.make_reward_prompt(problem, [info.description]), 0)))
    assert not any("alive" in name for name in alone.components())  # nothing can be learned from a constant


def test_what_is_not_done_counts_more_in_the_next_reward():
    best = Outcome(Candidate("1-1", SOURCE), True, trace=RISING)
    said = "Mean score of all subtasks: 0.5. Done: 1.\n- Subtask 2 (Hold upright) scores 0.00: it falls over"
    found = answer(prompts.make_reflection_prompt(PROBLEM, SUBTASKS, 1, best, said), 1)
    assert re.search(r"From the analysis: `upright_reward` x (1\.[3-9]|2)", found)
    missing = answer(
        prompts.make_reflection_prompt(
            PROBLEM,
            (*SUBTASKS[:2], "Calm power: power is small", "Success: run"),
            1,
            best,
            said.replace("Subtask 2 (Hold upright)", "Subtask 3 (Calm power)"),
        ),
        1,
    )
    assert "new `subtask_3_power_reward`" in missing and Program.parse(extract.find_source(missing)) is not None


def test_a_revision_is_of_one_that_failed_altogether_and_never_of_the_success():
    said = (
        "Mean score of all subtasks: 0.2. Done: none.\n- Subtask 2 (x) scores 0.00: y\n- Subtask 4 (z) scores 0.00: w"
    )
    answers = {answer(prompts.make_revision_prompt(PROBLEM, SUBTASKS, said), seed) for seed in range(12)}
    changed = {revise_subtasks(SUBTASKS, a) for a in answers}
    assert len(changed) == 2 and SUBTASKS in changed
    (other,) = changed - {SUBTASKS}
    assert other[1].startswith("A first step: ") and (other[0], *other[2:]) == (SUBTASKS[0], *SUBTASKS[2:])
