"""A further judge that learns from picks: by hand, what it foretells, and what ICPL's prompts say of it."""

import math

import pytest

from llm.judges import preference_model
from llm.judges.preference_model import Judged
from llm.records import Candidate, Outcome, Pick, Write
from tests.llm.experiment import Experiment, prompts


def film(name, mean, falls=0.0, **states):
    row = {
        "name": "height",
        "start": 0.0,
        "end": 0.0,
        "mean": mean,
        "min": 0.0,
        "max": 0.0,
        "travel": 0.0,
        "speed": 0.0,
    }
    return Outcome(Candidate(name, ""), True, states=states or {"seconds": 10.0, "falls": falls, "coordinates": [row]})


def judged(*means, best, worst, iteration=1):
    outcomes = tuple(film(f"{iteration}-{index}", mean) for index, mean in enumerate(means, 1))
    return Judged(Pick(f"{iteration}-{best}", worst and f"{iteration}-{worst}"), outcomes)


def test_one_comparison_by_hand():
    """Two films at 0 and 2 lie one deviation from their mean; d = 2 apart: the best w solves d / (1 + e^(d w)) = w."""
    worth = preference_model.fit([judged(0.0, 2.0, best=2, worst=None)])
    weight = worth(film("new", 2.0))
    assert worth(film("other", 0.0)) == pytest.approx(-weight) and worth(film("middle", 1.0)) == pytest.approx(0.0)
    assert 2 / (1 + math.exp(2 * weight)) == pytest.approx(weight, rel=1e-8)


def test_more_picks_of_one_kind_say_more_and_contrary_ones_nothing():
    same, other = judged(0.0, 2.0, best=2, worst=None), judged(0.0, 2.0, best=1, worst=None, iteration=2)
    once, twice, undone = (
        preference_model.fit(rounds)(film("new", 2.0)) for rounds in ([same], [same, same], [same, other])
    )
    assert twice > once > 0 and undone == pytest.approx(0.0, abs=1e-9)


def test_it_foretells_what_it_learned_and_counts_only_what_it_had_not_seen():
    rounds = [judged(1.0, 2.0, 3.0, best=3, worst=1), judged(4.0, 1.0, 2.5, best=1, worst=3, iteration=2)]
    assert preference_model.count_foretold(rounds[:1]) == (0, 0), "there was nothing to learn from before"
    assert preference_model.count_foretold(rounds) == (2, 3), "best before both; not that 1.0 is before 2.5"
    assert [one.candidate.id for one in preference_model.rank(rounds[:1], rounds[1].outcomes)] == ["2-1", "2-3", "2-2"]


def test_what_has_no_film_or_taught_nothing_is_not_ranked():
    program = Outcome(Candidate("1-1", ""), True, states={"outputs": "abc"})
    assert preference_model.read_film(program) == () == preference_model.read_film(Outcome(Candidate("1-2", ""), True))
    assert preference_model.rank([Judged(Pick("1-1", None), (program, program))], [program]) == []
    drawn = Judged(Pick("1-2", "1-1", undecided="skip"), (film("1-1", 0.0), film("1-2", 1.0)))
    assert preference_model.rank([drawn], drawn.outcomes) == [] and preference_model.count_foretold([drawn]) == (0, 0)
    unseen = Judged(Pick("1-2", None, unseen=("1-3",)), (film("1-1", 0.0), film("1-2", 1.0), film("1-3", 9.0)))
    assert [one.candidate.id for one in preference_model.rank([unseen], unseen.outcomes)][-1] == "1-1"


@pytest.mark.slow
def test_icpls_prompts_have_its_ranking_where_that_is_wanted_and_nothing_else_changes():
    plain, ranking = Experiment(k=3, n=3), Experiment(k=3, n=3, options={"ranks": True})
    plain.run()
    ranking.run()
    first, second, third = ("\n".join(m["content"] for m in asked.messages) for asked in ranking.of(Write))
    assert "reward model says" not in "".join(prompts(plain)) and "reward model says" not in first
    assert "the best of iteration 1, the worst of iteration 1. Among the 3 of this" in " ".join(second.split())
    assert "it foretold" not in second and "of the 3 comparisons that they imply" in third
    assert prompts(plain)[0] == first
