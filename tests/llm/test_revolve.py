"""Revolve: islands, breeding and ratings, with the arithmetic by hand."""

import dataclasses
import math
import random

import pytest

from llm.errors import MethodError
from llm.judges.panel import bradley_terry, list_comparisons, pool_picks, read_comparison
from llm.messages import format_trace
from llm.methods.revolve import CAP, ByJudges, ByScore, Island, compute_weights, join, migrate, select
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


def test_in_three_of_ten_generations_the_weaker_half_begins_again_with_a_migrant():
    """Bests 2, 9 and 3: the island of 2 is the weaker half of three. 9 and 3 stay where they are; 5 or 1 may go."""
    moved, migrants = 0, []
    for seed in range(1000):
        population = [island(1, 2), island(5, 9), island(1, 3)]
        migrate(population, FITNESS, random.Random(seed))
        if scores(population[0]) == [1.0, 2.0]:
            assert [scores(i) for i in population[1:]] == [[5.0, 9.0], [1.0, 3.0]]
            continue
        best, migrant = scores(population[0])
        assert best == 2.0
        left = [[9.0], [1.0, 3.0]] if migrant == 5.0 else [[5.0, 9.0], [3.0]]
        assert [scores(i) for i in population[1:]] == left
        moved, migrants = moved + 1, [*migrants, migrant]
    assert moved == pytest.approx(300, abs=45)
    assert migrants.count(5.0) / moved == pytest.approx(0.5, abs=0.1)


def test_migrants_are_the_likelier_the_fitter_and_empty_islands_are_the_weakest():
    drawn = []
    for seed in range(3000):
        population = [Island(), island(1, 3, 9)]
        migrate(population, FITNESS, random.Random(seed))
        drawn += scores(population[0])
    assert drawn.count(3.0) / len(drawn) == pytest.approx(math.e / (1 + math.e), abs=0.04)


def test_islands_without_a_second_member_have_nobody_to_spare():
    for seed in range(20):
        population = [island(1, 2), island(5)]
        migrate(population, FITNESS, random.Random(seed))
        assert scores(population[1]) == [5.0] and scores(population[0]) in ([1.0, 2.0], [2.0])


def test_an_island_alone_stays_as_it_is():
    for seed in range(20):
        population = [island(1, 2)]
        migrate(population, FITNESS, random.Random(seed))
        assert scores(population[0]) == [1.0, 2.0]


# --- breeding -------------------------------------------------------------------------------------------------


def test_islands_are_drawn_by_the_softmax_of_their_scaled_means_and_parents_by_their_own():
    """Means 2, 3 and 4 are 0, 1/2 and 1 of the way; on the last, 3 and 5 are 0 and 1."""
    assert compute_weights([2.0, 4.0, 3.0]) == pytest.approx([1.0, math.e, math.exp(0.5)])
    assert compute_weights([2.0, 2.0]) == [1.0, 1.0]
    population = [island(1, 3), island(2, 4), island(3, 5)]
    drawn = [select(population, FITNESS, random.Random(seed)) for seed in range(4000)]
    assert all(all(parent in home.members for parent in parents) for home, parents in drawn)
    whole = 1 + math.exp(0.5) + math.e
    fittest = [parents[0].rts for home, parents in drawn if home is population[2]]
    assert len(fittest) / 4000 == pytest.approx(math.e / whole, abs=0.03)
    assert fittest.count(5.0) / len(fittest) == pytest.approx(math.e / (1 + math.e), abs=0.04)


def test_half_of_the_children_have_two_different_parents():
    chosen = [select([island(1, 2)], FITNESS, random.Random(seed))[1] for seed in range(2000)]
    crossed = [c for c in chosen if len(c) == 2]
    assert len(crossed) / 2000 == pytest.approx(0.5, abs=0.04)
    assert all(a is not b for a, b in crossed)


def test_two_are_crossed_where_two_are_and_one_alone_mutates():
    population = [island(1), Island(), island(2, 3)]
    for seed in range(40):
        home, parents = select(population, FITNESS, random.Random(seed))
        assert home.members and (len(parents) == 1 or home is population[2])
        assert len(select(population[:2], FITNESS, random.Random(seed))[1]) == 1


# --- a whole run ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def automatic_experiment():
    experiment = Experiment(method="revolve", k=6, n=5)
    return experiment, experiment.run()


@pytest.mark.slow
def test_thirty_candidates_in_five_generations_of_six(automatic_experiment):
    experiment, winner = automatic_experiment
    outcomes = [o for trained in experiment.got(Train) for o in trained]
    assert len(outcomes) == 30
    assert winner == max(outcomes, key=lambda o: o.rts).candidate.id
    assert len(experiment.of(Judge)) == len(experiment.of(Compare)) == 0


def test_the_first_generation_is_one_write_and_each_later_child_its_own(automatic_experiment):
    writes = automatic_experiment[0].of(Write)
    assert [w.count for w in writes] == [6] + [1] * 24
    assert [w.first for w in writes[1:7]] == [1, 2, 3, 4, 5, 6]
    assert len({w.seed for w in writes}) == 25
    ids = [c.id for written in automatic_experiment[0].got(Write) for c in written]
    assert ids == [f"{i}-{j}" for i in range(1, 6) for j in range(1, 7)]


def followed(experiment, islands=3):
    """The pseudocode once more, on ids: what each child is bred from, of what the recorded requests must show."""
    rng = random.Random(experiment.seed)
    trained = [{o.candidate.id: o.rts for o in outcomes} for outcomes in experiment.got(Train)]
    fit = {name: score for scores in trained for name, score in scores.items()}
    members = [[] for _ in range(islands)]
    bred = []

    def draw(names, values):
        low, spread = min(values), max(values) - min(values)
        return rng.choices(names, [math.exp((v - low) / spread) if spread else 1.0 for v in values])[0]

    def mean(home):
        return sum(fit[m] for m in members[home]) / len(members[home])

    for generation, scores in enumerate(trained):
        homes = [i % islands for i in range(len(scores))]
        if generation == 0:
            rng.randrange(2**31)  # the seed of the first request
        for child in range(len(scores)) if generation else ():
            crossed = rng.random() < 0.5 and any(len(m) > 1 for m in members)
            able = [i for i in range(islands) if len(members[i]) > crossed]
            homes[child] = draw(able, [mean(i) for i in able])
            pool, parents = list(members[homes[child]]), []
            for _ in range(1 + crossed):
                parents.append(draw(pool, [fit[m] for m in pool]))
                pool.remove(parents[-1])
            rng.randrange(2**31)
            bred.append(parents)
        for home, name in zip(homes, scores, strict=True):
            if generation == 0 or not members[home] or fit[name] >= mean(home):
                members[home].append(name)
                if len(members[home]) > 8:
                    members[home].remove(min(members[home], key=fit.get))
        if rng.random() < 0.3:
            ranked = sorted(members, key=lambda m: max((fit[x] for x in m), default=-math.inf))
            for weak in ranked[: islands // 2]:
                weak[:] = [max(weak, key=fit.get)] if weak else []
                able = [m for m in ranked[islands // 2 :] if len(m) > 1]
                if able:
                    source = rng.choice(able)
                    others = [m for m in source if m != max(source, key=fit.get)]
                    weak.append(draw(others, [fit[m] for m in others]))
                    source.remove(weak[-1])
    return bred


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 8, 9])
def test_every_parent_is_the_one_the_pseudocode_draws(seed, automatic_experiment):
    experiment = automatic_experiment[0]
    if seed != experiment.seed:
        experiment = Experiment(method="revolve", k=6, n=5, seed=seed)
        experiment.run()
    trained = {o.candidate.source.strip(): o.candidate.id for outcomes in experiment.got(Train) for o in outcomes}
    assert len(trained) == 30
    shown = []
    for prompt in prompts(experiment)[1:]:
        codes = [part.partition("```python\n")[2].partition("\n```")[0] for part in prompt.split("# Parent ")[1:]]
        shown.append([trained[code] for code in codes])
    assert shown == followed(experiment)


def test_prompts_show_one_parent_or_two_with_code_trace_and_score_and_nobody_elses(automatic_experiment):
    experiment, _ = automatic_experiment
    trained = {o.candidate.id: o for outcomes in experiment.got(Train) for o in outcomes}
    seen = set()
    for write, prompt in zip(experiment.of(Write)[1:], prompts(experiment)[1:], strict=True):
        shown = [o for o in trained.values() if o.candidate.source.strip() in prompt]
        assert write.parent in [o.candidate.id for o in shown]
        assert all(format_trace(o.trace) in prompt for o in shown)
        crossed = "# Parent 2" in prompt
        assert ("# Now: cross over" in prompt) is crossed and ("# Now: mutate" in prompt) is not crossed
        assert [o for o in trained.values() if f"Fitness: {o.rts:.4g} (the task score" in prompt] == shown
        assert len(shown) == 1 + crossed
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
    with pytest.raises(MethodError, match="use revolve_human"):
        experiment.run()


# --- by people ------------------------------------------------------------------------------------------------


def rater(request):
    if isinstance(request, Compare):
        return "first"
    ids = [o.candidate.id for o in request.outcomes]
    words = ("best: moves fast", f"worst: {['falls over', 'shakes'][request.iteration % 2]}")
    return Pick(ids[1], ids[0], f"round {request.iteration}", words)


@pytest.fixture(scope="module")
def human_experiment():
    experiment = Experiment(method="revolve_human", k=3, n=4, judge=rater)
    return experiment, experiment.run()


@pytest.mark.slow
def test_each_generation_is_judged_and_its_best_meets_the_best_so_far(human_experiment):
    experiment, _ = human_experiment
    assert [j.iteration for j in experiment.of(Judge)] == [1, 2, 3, 4]
    pairs = [(c.first.candidate.id, c.second.candidate.id) for c in experiment.of(Compare)]
    assert pairs == [("2-2", "1-2"), ("3-2", "2-2"), ("4-2", "3-2")]


def test_fitness_is_the_bradley_terry_strength_of_all_that_was_said(human_experiment):
    experiment, winner = human_experiment
    seen = []
    for iteration in range(1, 5):
        ids = [f"{iteration}-{i}" for i in (1, 2, 3)]
        seen += list_comparisons(Pick(ids[1], ids[0]), ids)
        seen += read_comparison(f"{iteration}-2", f"{iteration - 1}-2", "first") if iteration > 1 else []
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


def test_a_candidate_that_nobody_was_shown_is_compared_with_none():
    outcomes = [Outcome(Candidate(f"1-{i}", "..."), ok=True) for i in (1, 2, 3)]
    fitness = ByJudges()
    steps = fitness.judge(1, outcomes)
    next(steps)
    with pytest.raises(StopIteration):
        steps.send(Pick("1-2", "1-1", unseen=("1-3",)))
    assert [(c.winner, c.loser, c.share) for c in fitness.seen] == [("1-2", "1-1", 1.0)]
    assert fitness.strengths["1-3"].value == 0.0


def test_the_commonest_tags_and_the_last_words_reach_the_next_prompts(human_experiment):
    experiment, _ = human_experiment
    last = prompts(experiment)[-1]
    assert "Raters say most often: best: moves fast, worst: shakes, worst: falls over." in last
    assert "round 3" in last and "round 2" not in last
    assert "Raters liked about it: moves fast." in "".join(prompts(experiment))
    assert "Raters want it mended: " in "".join(prompts(experiment))
    silent = Experiment(method="revolve_human", k=3, n=3, judge=rater, options={"reasons": False})
    silent.run()
    mute = "".join(prompts(silent))
    assert "Fitness: 1.00 (by what raters preferred" in mute
    assert not [words for words in ("Raters liked", "Raters say", "round 2") if words in mute]


def test_what_a_panel_said_is_told_of_whom_it_was_said_and_by_how_many_it_was():
    """Four like 1-1, one likes 1-2, and what many said is told before what comes first in the alphabet."""
    shown = [f"1-{i}" for i in range(1, 5)]
    many = [(Pick("1-1", "1-4", tags=("best: smooth", "worst: shakes")), shown)] * 4
    liked = tuple(f"best: {tag}" for tag in ("a", "b", "c"))
    few = (Pick("1-2", "1-4", tags=(*liked, "worst: falls over")), shown)
    fitness = ByJudges()
    outcomes = [member(0, name) for name in shown]
    steps = fitness.judge(1, outcomes)
    next(steps)
    with pytest.raises(StopIteration):
        steps.send(pool_picks([few, *many]))
    assert fitness.format_remarks(outcomes[0]) == "Raters liked about it: smooth."
    assert fitness.format_remarks(outcomes[1]) == ""
    assert fitness.format_remarks(outcomes[3]) == "Raters want it mended: shakes, falls over."
    assert fitness.remarks() == "Raters say most often: best: smooth, worst: shakes, worst: falls over."


def test_the_commonest_good_tags_leave_room_for_the_commonest_bad_ones():
    good = ("best: moves fast", "best: moves smoothly", "best: looks natural", "best: keeps its balance")
    fitness = ByJudges(tags=[*[good] * 2, ("worst: shakes",)])
    said = "best: keeps its balance, best: looks natural, best: moves fast, worst: shakes"
    assert fitness.remarks() == f"Raters say most often: {said}."


def test_a_skipped_comparison_counts_for_nobody():
    judge = lambda request: "skip" if isinstance(request, Compare) else rater(request)  # noqa: E731
    assert Experiment(method="revolve_human", k=3, n=2, judge=judge).run() in ("1-2", "2-2")


def test_fewer_candidates_than_islands_is_fewer_islands():
    assert Experiment(method="revolve", k=2, n=3, options={"islands": 8}).run()
