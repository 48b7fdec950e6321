"""The offline writer as a whole: what it answers to real prompts of real tasks."""

import json
import random

import pytest

from llm import extract
from llm.messages import first_prompt, format_trace
from llm.offline import NOTICE, OfflineWriter, answer
from llm.offline.drafting import draft
from llm.offline.quantities import derive
from llm.offline.reading import Reading
from llm.offline.syntax_tree import Program
from llm.records import Outcome, Problem
from simulation import catalog
from simulation.rewards import sandbox
from tests.llm.experiment import PROBLEM, Experiment, row

TASKS = ["Cartpole", "Ant", "Humanoid", "HumanoidJump"]
PLACES = ["BallBalance", "Quadcopter", "AntLieDown", "AntPatrolAndReturn", "AllegroHand", "ShadowHand"]


def traced(request):
    """Traces as training might give them: moving, flat, dominating and vanishing components; failed candidates too."""
    outcomes = []
    for candidate in request.candidates:
        rng = random.Random(candidate.source)
        names = [*Program.parse(candidate.source).components(), "total", "episode_length"]
        trace = {name: row(*_samples(rng)) for name in names}
        outcomes.append(Outcome(candidate, rng.random() > 0.1, "it failed", trace, {}, rng.random()))
    return tuple(outcomes)


def _samples(rng):
    size = 10 ** rng.uniform(-4, 3)
    return [size] * 10 if rng.random() < 0.2 else [size * rng.gauss(0, 1) for _ in range(10)]


def programs(task, experiments, iterations):
    """Programs of six a round, over real prompts."""
    info = catalog.get_task(task)
    problem = Problem(task, info.description, catalog.read_observation_source(task), info.inputs)
    written = []
    for seed in range(experiments):
        experiment = Experiment(seed=seed, k=6, n=iterations, problem=problem, train=traced)
        experiment.run()
        written += [
            c.source
            for r, got in zip(experiment.requests, experiment.results, strict=True)
            if type(r).__name__ == "Write"
            for c in got
        ]
    return written


def assert_executable(task, written):
    verdicts = sandbox.check(task, written)
    assert all(verdict.ok for verdict in verdicts), verdicts


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("task", TASKS)
def test_120_of_120_programs_are_executable(task):
    written = programs(task, experiments=4, iterations=5)
    assert len(written) == 120 and len(set(written)) > 110
    assert_executable(task, written)


@pytest.mark.slow
@pytest.mark.parametrize(
    "task",
    [
        pytest.param(task, marks=() if task == "FrankaCabinet" else pytest.mark.exhaustive)
        for task in [*TASKS, *PLACES, "Anymal", "FrankaCabinet"]
    ],
)
def test_first_and_second_programs_are_executable(task):
    written = programs(task, experiments=1, iterations=2)
    assert len(set(written)) == 12
    assert_executable(task, written)


@pytest.mark.parametrize("task", ["Anymal", "Cartpole", "FrankaCabinet"])
def test_a_goal_is_never_only_a_cost(task):
    info = catalog.get_task(task)
    reading = Reading(info.description, info.inputs, catalog.read_observation_source(task))
    for seed in range(24):
        goal = draft(random.Random(seed), seed, derive(reading))[0]
        assert goal.weight > 0 and goal.form not in ("cost", "absolute")


@pytest.mark.slow
@pytest.mark.parametrize("task", [*TASKS, *PLACES])
def test_a_round_holds_different_programs(task):
    info = catalog.get_task(task)
    problem = Problem(task, info.description, catalog.read_observation_source(task), info.inputs)
    for seed in range(5):
        experiment = Experiment(seed=seed, k=6, n=1, problem=problem)
        experiment.run()
        assert len({extract.normalize_program(c.source) for c in experiment.results[0]}) == 6


def test_the_same_messages_and_seed_give_the_same_answer():
    messages = Experiment(n=1).advance([]).requests[0].messages
    assert answer(messages, 5) == answer(messages, 5) != answer(messages, 6)


def test_every_answer_says_that_it_is_no_language_model():
    experiment = Experiment(k=3, n=3)
    experiment.run()
    for request in experiment.requests:
        if hasattr(request, "messages"):
            assert NOTICE in answer(request.messages, request.seed)
    assert NOTICE in answer([{"role": "user", "content": "Who are you?"}], 0)


EARLIER = """\
def compute_reward(a: Tensor, b: Tensor):
    x = 2.0 * a
    y = 1.5 * b
    return x + y, {"x": x, "y": y}
"""


def test_it_says_what_changed_between_two_programs():
    earlier = EARLIER
    later = earlier.replace("2.0", "4.0").replace("y = 1.5 * b", "z = b").replace('"y": y', '"z": z')
    later = later.replace("x + y", "x + z")
    before = {"x": row(1.0, 2.0), "episode_length": row(10.0, 40.0)}
    after = {"x": row(3.0, 4.0), "episode_length": row(10.0, 90.0)}
    text = (
        f"# Earlier reward function\n```python\n{earlier}```\nReward trace:\n{format_trace(before)}\n"
        f"# Later reward function\n```python\n{later}```\nReward trace:\n{format_trace(after)}\n"
    )
    said = answer([{"role": "user", "content": text}], 0)
    assert "adds `z`" in said and "drops `y`" in said and "x from 2 to 4" in said
    assert "`x` goes from 1.5 to 3.5" in said and "episodes last 90 steps, before 40" in said


def test_a_repair_gives_another_program():
    messages = Experiment(n=1).advance([]).requests[0].messages
    first = answer(messages, 5)
    talk = [*messages, {"role": "assistant", "content": first}, {"role": "user", "content": "It failed."}]
    again = extract.find_source(answer(talk, 6))
    assert again is not None and again != extract.find_source(first)


@pytest.mark.parametrize(
    "inputs", ["- `mystery`: Tensor (num_envs, 4, 4)", "- `dt`: float", "- `up_vec`: Tensor (num_envs, 3)"]
)
def test_unknown_inputs_are_an_answer_too(inputs):
    for seed in range(6):
        said = answer([{"role": "user", "content": f"# Task\nDo it.\n# Inputs\n{inputs}"}], seed)
        code = extract.find_source(said)
        assert "Its rules know none of these inputs" in said if code is None else "up_vec" in code


def test_replies_cost_nothing_and_count_words():
    (reply,) = OfflineWriter().complete([{"role": "user", "content": "Hello, you."}], 1, 3)
    assert (reply.cost, reply.usage.input_tokens, reply.seed, reply.finish_reason) == (0.0, 4, 3, "stop")
    json.dumps(reply.request)


def test_it_reads_nothing_but_the_messages():
    shown = Experiment(n=1).advance([]).requests[0].messages
    hidden = tuple({**m, "content": m["content"].replace("potentials", "riches")} for m in shown)
    assert "riches" in "".join(answer(hidden, s) for s in range(6))
    assert "potentials" not in "".join(answer(hidden, s) for s in range(6))
    assert "potentials" in "".join(answer(shown, s) for s in range(6)) and PROBLEM.inputs


def test_an_answer_beyond_the_token_limit_is_cut_off():
    (whole,) = OfflineWriter().complete(first_prompt(PROBLEM), 1, 5)
    (cut,) = OfflineWriter().complete(first_prompt(PROBLEM), 1, 5, tokens=40)
    assert (whole.finish_reason, cut.finish_reason) == ("stop", "length")
    assert whole.text.startswith(cut.text) and cut.usage.output_tokens == 40
    assert OfflineWriter().complete(first_prompt(PROBLEM), 1, 5, tokens=4000)[0].text == whole.text
