import pytest

from llm.diversity import SMALL, list_features, measure_behaviour_distance, measure_code_distance
from llm.records import Candidate, Outcome, Write
from tests.llm.experiment import Experiment, prompts


def outcome(source="", states=None, ok=True):
    return Outcome(Candidate("1-1", source), ok, states=states or {})


def program(body, *inputs):
    return f"def compute_reward({', '.join(inputs)}):\n    a = {body}\n    return a, {{'a': a}}\n"


def film(falls, *coordinates):
    rows = [
        {"name": f"joint {i}", "mean": mean, "speed": speed, "end": 9.0} for i, (mean, speed) in enumerate(coordinates)
    ]
    return {"seconds": 10.0, "falls": falls, "coordinates": rows}


def test_a_program_is_what_it_reads_and_applies():
    source = program("torch.exp(-x[:, 2]) + y", "x", "y")
    assert list_features(source) == {"x[:, 2]", "y", "torch.exp()"}
    assert list_features("not python(") == frozenset()


def test_names_numbers_and_comments_make_no_difference():
    first = program("2.0 * x  # fast", "x")
    assert measure_code_distance([outcome(first), outcome(first.replace("a", "a").replace("2.0", "0.5"))]) == 0


def test_the_distance_of_programs_by_hand():
    """{x, y, exp} and {x, exp}: 1 - 2/3; {x, y, exp} and {z}: 1; {x, exp} and {z}: 1."""
    first, second, third = program("torch.exp(x) + y", "x", "y"), program("torch.exp(x)", "x"), program("z", "z")
    assert measure_code_distance([outcome(s) for s in (first, second, third)]) == pytest.approx((1 / 3 + 1 + 1) / 3)
    assert measure_code_distance([outcome(first)]) is None


def test_the_distance_of_films_by_hand():
    first, second = outcome(states=film(0, (1.0, 2.0))), outcome(states=film(10, (1.0, -2.0)))
    falls, mean, speed = 1.0 / (1.0 + SMALL), 0.0, 4.0 / (4.0 + SMALL)
    assert measure_behaviour_distance([first, second]) == pytest.approx((falls + mean + speed) / 3)
    assert measure_behaviour_distance([first, first]) == 0
    assert measure_behaviour_distance([first, outcome(states=film(0, (1.0, 2.0)), ok=False), outcome()]) is None


def test_written_one_after_another_each_sees_those_before():
    experiment = Experiment(k=4, n=2, options={"diverse": True})
    experiment.run()
    first, second = experiment.of(Write)[:4], experiment.of(Write)[4:]
    assert [(w.count, w.first) for w in first] == [(1, 1), (1, 2), (1, 3), (1, 4)] and [w.count for w in second] == [4]
    sources = [c.source.strip() for written in experiment.got(Write)[:4] for c in written]
    for number, prompt in enumerate(prompts(experiment)[:4]):
        assert [source for source in sources if source in prompt] == sources[:number]
        assert "Reward trace" not in prompt


@pytest.mark.slow
def test_that_makes_them_more_different():
    mean = {}
    for diverse in (False, True):
        found = []
        for seed in range(5):
            experiment = Experiment(k=6, n=1, seed=seed, options={"diverse": diverse})
            experiment.run()
            found.append(measure_code_distance(experiment.got_kind("Train")[0]))
        mean[diverse] = sum(found) / len(found)
    assert mean[True] > mean[False] + 0.03
