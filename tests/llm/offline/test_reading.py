import random

from llm.feedback import Feedback, describe_prompt
from llm.messages import format_trace
from llm.offline.reading import Row, read, read_trace, split_sections
from llm.records import Ask, Write
from tests.llm.experiment import PROBLEM, Experiment, row


def test_it_finds_everything_in_a_first_prompt():
    experiment = Experiment(n=1)
    experiment.run()
    reading = read(experiment.requests[0].messages)
    assert reading.task == PROBLEM.description
    assert reading.inputs == dict(PROBLEM.inputs)
    assert reading.observation_source == PROBLEM.observation_source.strip()
    assert reading.preferred is None and reading.rejected is None


def test_it_finds_best_and_worst_in_a_later_prompt():
    experiment = Experiment(n=3)
    experiment.run()
    outcomes = {o.candidate.id: o for outcomes in experiment.got(type(experiment.requests[1])) for o in outcomes}
    pick = experiment.results[5]
    reading = read(experiment.of(Write)[2].messages)
    assert reading.preferred.source == outcomes[pick.best].candidate.source
    assert reading.rejected.source == outcomes[pick.worst].candidate.source
    shown = outcomes[pick.best].trace["progress_reward"]
    assert reading.preferred.trace["progress_reward"].samples == tuple(float(f"{v:.4g}") for v in shown["samples"])
    assert len(reading.preferred.trace) == 3


def test_it_finds_both_programs_of_a_describe_prompt():
    experiment = Experiment(n=3)
    experiment.run()
    first, second, _ = (o[0] for o in experiment.got(type(experiment.requests[1])))
    for shown in (Feedback(), Feedback(described_traces=True)):
        reading = read(describe_prompt(PROBLEM, first, second, shown))
        assert reading.earlier.source == first.candidate.source
        assert reading.later.source == second.candidate.source
        assert bool(reading.later.trace) is shown.described_traces
    assert read(experiment.of(Ask)[0].messages).inputs == {}


def test_a_trace_survives_being_written_and_read():
    rng = random.Random(1)
    rows = {name: row(*(rng.uniform(-9, 9) for _ in range(10))) for name in ("a", "b_cost")}
    found = read_trace(format_trace(rows))
    assert list(found) == ["a", "b_cost"]
    assert found["a"].mean == float(f"{rows['a']['mean']:.4g}")


def test_rows_that_are_not_numbers_are_left_out():
    ends = ", max 1, mean 1, min 1\n"
    found = read_trace(f"- a: [1, nan, 2]{ends}- b: [x]{ends}- c: []{ends}- prose: yes")
    assert list(found) == ["a", "c"]
    assert found["c"] == Row((), 1.0, 1.0, 1.0)


def test_comments_in_code_are_not_headings():
    text = "# Task\nrun\n```python\n# Inputs\n- `no`: float\n```\n# Inputs\n- `yes`: float"
    assert [title for title, _ in split_sections(text)] == ["", "Task", "Inputs"]
    assert read([{"role": "user", "content": text}]).inputs == {"yes": "float"}


def test_what_the_model_said_itself_is_not_read_as_the_prompt():
    messages = [{"role": "user", "content": "# Task\nrun"}, {"role": "assistant", "content": "# Task\nsleep"}]
    assert read(messages).task == "run"
