"""Revolve: islands, breeding and ratings, with the arithmetic by hand."""

import dataclasses
import math
import random

import pytest

from llm.errors import MethodError
from llm.judges.panel import bradley_terry, compared, comparisons
from llm.methods.revolve import CAP, ByJudges, ByScore, Island, join, migrate, select, weights
from llm.records import Candidate, Compare, Judge, Outcome, Pick, Train, Write
from tests.llm.experiment import Experiment, prompts, train

FITNESS = ByScore()


def member(score, name=""):
    return Outcome(Candidate(name or f"1-{score}", f"code {score}"), True, rts=float(score))


def island(*scores):
    return Island([member(s) for s in scores])


def scores(of):
    return [m.rts for m in of.members]


# --- islands --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("newcomer", "joins"), [(1.9, False), (2.0, True), (2.1, True)])
def test_a_newcomer_joins_at_the_islands_mean(newcomer, joins):
    home = island(1, 3)
    assert join(home, member(newcomer), FITNESS) is joins
    assert (newcomer in scores(home)) is joins


def test_founders_join_whatever_their_fitness():
    home = island(5)
    assert join(home, member(1), FITNESS, founding=True)


def test_beyond_the_cap_the_least_fit_leaves():
    home = island(*range(1, CAP + 1))
    join(home, member(6.5), FITNESS)
    assert len(home.members) == CAP and 1.0 not in scores(home) and 6.5 in scores(home)


def test_nobody_is_twice_on_an_island():
    home = island(1, 2)
    join(home, home.members[1], FITNESS)
    assert scores(home) == [1.0, 2.0]


def test_migration_copies_another_islands_best_in_three_of_ten_cases():
    moved = 0
    for seed in range(1000):
        population = [island(1, 2), island(5, 9)]
        migrate(population, FITNESS, random.Random(seed))
        assert scores(population[1]) == [5.0, 9.0]  # 2 is below that island's mean
        assert scores(population[0]) in ([1.0, 2.0], [1.0, 2.0, 9.0])
        moved += len(population[0].members) == 3
    assert moved == pytest.approx(300, abs=45)


def test_an_island_alone_stays_as_it_is():
    population = [island(1, 2)]
    migrate(population, FITNESS, random.Random(1))
    assert scores(population[0]) == [1.0, 2.0]


# --- breeding -------------------------------------------------------------------------------------------------


def test_parents_are_drawn_by_the_softmax_of_their_scaled_fitness():
    assert weights([2.0, 4.0, 3.0]) == pytest.approx([1.0, math.e, math.exp(0.5)])
    assert weights([2.0, 2.0]) == [1.0, 1.0]
    members = [member(2), member(4), member(3)]
    first = [select(members, FITNESS, random.Random(seed))[0].rts for seed in range(4000)]
    whole = 1 + math.e + math.exp(0.5)
    assert first.count(4.0) / 4000 == pytest.approx(math.e / whole, abs=0.03)


def test_half_of_the_children_have_two_different_parents():
    chosen = [select([member(1), member(2)], FITNESS, random.Random(seed)) for seed in range(2000)]
    crossed = [c for c in chosen if len(c) == 2]
    assert len(crossed) / 2000 == pytest.approx(0.5, abs=0.04)
    assert all(a is not b for a, b in crossed)


def test_one_member_alone_mutates():
    assert all(len(select([member(1)], FITNESS, random.Random(seed))) == 1 for seed in range(20))


# --- a whole run ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def automatic():
    experiment = Experiment(method="revolve", k=6, n=5)
    return experiment, experiment.run()


def test_thirty_candidates_in_five_generations_of_six(automatic):
    experiment, winner = automatic
    outcomes = [o for trained in experiment.got(Train) for o in trained]
    assert len(outcomes) == 30
    assert winner == max(outcomes, key=lambda o: o.rts).candidate.id
    assert len(experiment.of(Judge)) == len(experiment.of(Compare)) == 0


def test_the_first_generation_is_one_write_and_each_later_child_its_own(automatic):
    writes = automatic[0].of(Write)
    assert [w.count for w in writes] == [6] + [1] * 24
    assert [w.first for w in writes[1:7]] == [1, 2, 3, 4, 5, 6]
    assert len({w.seed for w in writes}) == 25
    ids = [c.id for written in automatic[0].got(Write) for c in written]
    assert ids == [f"{i}-{j}" for i in range(1, 6) for j in range(1, 7)]


def test_children_come_from_members_of_their_own_island(automatic):
    """Replayed by hand from the recorded requests: the population that every parent was drawn from."""
    experiment, _ = automatic
    trained = {o.candidate.id: o for outcomes in experiment.got(Train) for o in outcomes}
    homes = {name: int(name.partition("-")[2]) % 3 for name in trained}
    for write in experiment.of(Write)[1:7]:  # before any migration could bring in members bred elsewhere
        bests = {
            home: max((o.rts, n) for n, o in trained.items() if n[0] == "1" and homes[n] == home)
            for home in homes.values()
        }
        allowed = [n for n in trained if n[0] == "1" and homes[n] == write.first % 3]
        assert write.parent in allowed + [name for _, name in bests.values()]


def test_prompts_show_one_parent_or_two_with_code_and_trace_and_no_score(automatic):
    experiment, _ = automatic
    trained = {o.candidate.id: o for outcomes in experiment.got(Train) for o in outcomes}
    seen = set()
    for write, prompt in zip(experiment.of(Write)[1:], prompts(experiment)[1:], strict=True):
        parent = trained[write.parent]
        assert parent.candidate.source.strip() in prompt
        crossed = "# Parent 2" in prompt
        assert ("# Now: cross over" in prompt) is crossed and ("# Now: mutate" in prompt) is not crossed
        assert not [o for o in trained.values() if f"{o.rts:.4g}" in prompt]
        seen.add(crossed)
    assert seen == {True, False}


def test_what_could_not_be_trained_has_no_children():
    def half(request):
        return tuple(dataclasses.replace(o, ok=i % 2 == 0) for i, o in enumerate(train(request)))

    experiment = Experiment(method="revolve", k=4, n=4, train=half)
    experiment.run()
    lost = {o.candidate.id for outcomes in experiment.got(Train) for o in outcomes if not o.ok}
    assert lost and not {w.parent for w in experiment.of(Write)} & lost


def test_by_score_it_needs_a_metric():
    experiment = Experiment(method="revolve", train=lambda r: tuple(dataclasses.replace(o, rts=None) for o in train(r)))
    with pytest.raises(MethodError, match="Use revolve_human"):
        experiment.run()


# --- by people ------------------------------------------------------------------------------------------------


def rater(request):
    if isinstance(request, Compare):
        return "first"
    ids = [o.candidate.id for o in request.outcomes]
    words = ("best: moves fast", f"worst: {['falls over', 'shakes'][request.iteration % 2]}")
    return Pick(ids[1], ids[0], f"round {request.iteration}", words)


@pytest.fixture(scope="module")
def human():
    experiment = Experiment(method="revolve_human", k=3, n=4, judge=rater)
    return experiment, experiment.run()


def test_each_generation_is_judged_and_its_best_meets_the_best_so_far(human):
    experiment, _ = human
    assert [j.iteration for j in experiment.of(Judge)] == [1, 2, 3, 4]
    pairs = [(c.first.candidate.id, c.second.candidate.id) for c in experiment.of(Compare)]
    assert pairs == [("2-2", "1-2"), ("3-2", "2-2"), ("4-2", "3-2")]


def test_fitness_is_the_bradley_terry_strength_of_all_that_was_said(human):
    experiment, winner = human
    seen = []
    for iteration in range(1, 5):
        ids = [f"{iteration}-{i}" for i in (1, 2, 3)]
        seen += comparisons(Pick(ids[1], ids[0]), ids)
        seen += compared(f"{iteration}-2", f"{iteration - 1}-2", "first") if iteration > 1 else []
    strengths = bradley_terry(seen)
    assert winner == max(strengths, key=lambda name: strengths[name].value) == "4-2"
    fitness = ByJudges()
    for outcomes, judged in zip(experiment.got(Train), experiment.of(Judge), strict=True):
        steps = fitness.judge(judged.iteration, list(outcomes))
        answer = next(steps)
        while True:
            try:
                answer = steps.send(rater(answer))
            except StopIteration:
                break
    for name, rating in strengths.items():
        assert fitness.strengths[name].value == rating.value


def test_the_commonest_tags_and_the_last_words_reach_the_next_prompts(human):
    experiment, _ = human
    last = prompts(experiment)[-1]
    assert "Raters say most often: best: moves fast, worst: shakes, worst: falls over." in last
    assert "round 3" in last and "round 2" not in last
    silent = Experiment(method="revolve_human", k=3, n=3, judge=rater, options={"reasons": False})
    silent.run()
    assert "Raters say" not in "".join(prompts(silent)) and "round 2" not in "".join(prompts(silent))


def test_a_skipped_comparison_counts_for_nobody():
    judge = lambda request: "skip" if isinstance(request, Compare) else rater(request)  # noqa: E731
    assert Experiment(method="revolve_human", k=3, n=2, judge=judge).run() in ("1-2", "2-2")


def test_fewer_candidates_than_islands_is_fewer_islands():
    assert Experiment(method="revolve", k=2, n=3, options={"islands": 8}).run()
