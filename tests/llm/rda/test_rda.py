"""Recorded experiments of RDA and its ablations, followed step by step."""

import re

import pytest

from llm.errors import MethodError
from llm.messages import format_trace
from llm.records import (
    Ask,
    Choose,
    Judge,
    Look,
    Outcome,
    Pick,
    Train,
    Write,
    result_from_json,
    result_to_json,
)
from tests.llm.experiment import Experiment, prompts, train

STATES = {"seconds": 10.0, "falls": 2, "coordinates": [{"name": "height", "start": 0.5, "end": 0.62, "mean": 0.6}]}


def filmed(request):
    return tuple(Outcome(o.candidate, True, "", o.trace, o.metric_trace, o.rts, STATES) for o in train(request))


def run(method="rda", k=4, n=3, **values):
    experiment = Experiment(method=method, k=k, n=n, **{"train": filmed, **values})
    experiment.winner = experiment.run()
    return experiment


@pytest.fixture(scope="module")
def rda_experiment():
    return run()


def text(request):
    return request.messages[-1]["content"]


def asking(experiment, what):
    """(request, answer) of each Ask or Look under this heading."""
    pairs = zip(experiment.requests, experiment.results, strict=True)
    return [(r, a) for r, a in pairs if isinstance(r, Ask | Look) and f"# Now: {what} the subtasks" in text(r)]


def kinds(experiment):
    return [type(r).__name__ for r in experiment.requests]


def section(prompt, title):
    return re.search(rf"^# {title}\n\n(.*?)(?=\n# |\Z)", prompt, re.DOTALL | re.MULTILINE)[1].strip()


# --- the order of things ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_asks_what_the_algorithm_says_in_its_order(rda_experiment):
    once = ["Write", "Train", *["Ask"] * 4]
    assert kinds(rda_experiment) == ["Ask", *once, "Ask", *once, "Ask", *once]
    assert [r.count for r in rda_experiment.of(Write)] == [4, 4, 4]
    assert len(asking(rda_experiment, "list")) == 1
    assert len(asking(rda_experiment, "analyse")) == 12
    assert len(asking(rda_experiment, "revise")) == 2  # none after the last iteration, which nothing would follow
    assert all(r.role == "writer" for r in rda_experiment.of(Ask))


def means(experiment):
    """[(candidate id, mean score of its subtasks)] of each iteration, from the answers, once more by hand."""
    answers = [answer for _, answer in asking(experiment, "analyse")]
    per = len(answers) // sum(len(r) for r in experiment.got(Train))
    found = []
    for outcomes in experiment.got(Train):
        row = []
        for outcome in outcomes:
            scores = []
            for answer in [answers.pop(0) for _ in range(per)]:
                values = [float(s) for s in re.findall(r"^Score: (\S+)", answer, re.MULTILINE)]
                shows = [e != "none" for e in re.findall(r"^Evidence: (.+)", answer, re.MULTILINE)]
                lost = values.index(0.0) if 0.0 in values else len(values)
                scores += [
                    v if i <= lost or shown else 0.0 for i, (v, shown) in enumerate(zip(values, shows, strict=True))
                ]
            row.append((outcome.candidate.id, sum(scores) / len(scores)))
        found.append(row)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 11])
def test_the_best_mean_of_its_subtasks_wins_an_iteration_and_the_highest_of_all_the_whole(seed):
    experiment = run(seed=seed)
    rows = means(experiment)
    bests = [max(row, key=lambda pair: pair[1]) for row in rows]
    assert [r.parent for r in experiment.of(Write)] == [None, bests[0][0], bests[1][0]]
    highest = max(score for _, score in bests)
    assert experiment.winner == [name for name, score in bests if score == highest][-1]


@pytest.mark.slow
def test_training_starts_from_the_best_of_the_iteration_before(rda_experiment):
    assert [r.warm for r in rda_experiment.of(Train)] == [r.parent for r in rda_experiment.of(Write)]
    cold = run(options={"warm_start": False})
    assert [r.warm for r in cold.of(Train)] == [None] * 3
    assert prompts(cold) == prompts(rda_experiment)  # and nothing else changes


# --- what the prompts hold ----------------------------------------------------------------------------------------


def test_the_list_of_subtasks_goes_into_every_later_prompt(rda_experiment):
    ((first, listed),) = asking(rda_experiment, "list")
    assert rda_experiment.problem.observation_source.strip() in text(first) and "5 to 10" in text(first)
    items = re.findall(r"^\d+\. (.+)$", listed, re.MULTILINE)
    assert 5 <= len(items) <= 10 and items[-1].startswith("Success")
    for request in (
        rda_experiment.of(Write)[0],
        asking(rda_experiment, "analyse")[0][0],
        asking(rda_experiment, "revise")[0][0],
    ):
        shown = section(text(request), "Subtasks")
        assert shown == "\n".join(f"{i}. {item}" for i, item in enumerate(items, 1))


def test_the_first_rewards_know_no_program_and_want_bounded_components_and_a_bonus(rda_experiment):
    prompt = " ".join(text(rda_experiment.of(Write)[0]).split())
    assert "between 0 and 1" in prompt and "`success_bonus`" in prompt and "Reward trace" not in prompt


def test_later_rewards_build_on_the_best_and_what_the_analysis_said(rda_experiment):
    outcomes = {o.candidate.id: o for got in rda_experiment.got(Train) for o in got}
    for number, request in enumerate(rda_experiment.of(Write)[1:], 1):
        prompt = text(request)
        assert f"# Best reward function of iteration {number}" in prompt
        assert outcomes[request.parent].candidate.source.strip() in prompt
        mean = dict(means(rda_experiment)[number - 1])[request.parent]
        said = section(prompt, "What the analysis said")
        assert said.startswith(f"Mean score of all subtasks: {mean:.2f}.")
        assert said in text(asking(rda_experiment, "revise")[number - 1][0])
        assert sum(o.candidate.source.strip() in prompt for o in outcomes.values()) == 1


def test_numbers_are_analysed_with_traces_and_state_statistics_but_without_pictures(rda_experiment):
    request, answer = asking(rda_experiment, "analyse")[0]
    assert "the episode restarted 2 times" in text(request) and "- height: start 0.5, end 0.62" in text(request)
    assert "There are no pictures" in text(request) and "The offline analyst judges by rules" in answer
    assert not rda_experiment.of(Look) and not any(r.scene for r in rda_experiment.of(Ask))


@pytest.mark.slow
def test_a_vision_model_sees_frames_of_each_clip_several_times_and_no_statistics():
    experiment = run(n=1, options={"analyst": "frames", "frames": 12, "rollouts": 3})
    subtasks, *revisions = experiment.of(Ask)
    assert (subtasks.role, subtasks.scene) == ("vision", True), "who lists the subtasks sees the robot in its scene"
    looks = experiment.of(Look)
    assert [r.candidate for r in looks] == [f"1-{i}" for i in (1, 2, 3, 4) for _ in range(3)]
    assert [r.rollout for r in looks] == 4 * [1, 2, 3] and [r.rollouts for r in experiment.of(Train)] == [3]
    assert {r.frames for r in looks} == {12} and len({r.seed for r in looks}) == 12
    assert all("12 evenly spaced moments" in text(r) and "restarted" not in text(r) for r in looks)


# --- a judge as the critic, and the ablation ----------------------------------------------------------------------


def says(request):
    ids = [o.candidate.id for o in request.outcomes]
    return ids[0] if isinstance(request, Choose) else Pick(ids[1], ids[-1], "it drags a leg", ("clumsy",))


def test_a_person_as_critic():
    experiment = run("rda_judged", judge=says)
    once = ["Write", "Train", "Judge"]
    assert kinds(experiment) == ["Ask", *once, "Ask", *once, "Ask", *once, "Choose"]
    prompt = text(experiment.of(Write)[1])
    assert 'In the judge\'s own words: "it drags a leg"\nTags: clumsy' in section(prompt, "What the analysis said")
    assert [r.warm for r in experiment.of(Train)] == [None, "1-2", "2-2"]
    assert [o.candidate.id for o in experiment.of(Choose)[0].outcomes] == ["1-2", "2-2", "3-2"]
    assert not asking(experiment, "analyse") and len(experiment.got(Judge)) == 3


def test_a_persons_words_can_be_kept_from_the_model():
    mute = run("rda_judged", n=2, judge=says, options={"reasons": False})
    assert "drags a leg" not in (prompt := text(mute.of(Write)[1])) and "clumsy" not in prompt
    assert section(prompt, "What the analysis said") == "A judge who watched 4 robots liked this one best."
    assert not [prompt for prompt in prompts(mute) if "drags a leg" in prompt]


def test_without_analysis_it_is_eureka_with_warm_starts():
    experiment = run("rda_scored")
    assert kinds(experiment) == ["Write", "Train"] * 3
    bests = [max(outcomes, key=lambda o: o.rts) for outcomes in experiment.got(Train)]
    assert [r.warm for r in experiment.of(Train)] == [None, bests[0].candidate.id, bests[1].candidate.id]
    for best, request in zip(bests, experiment.of(Write)[1:], strict=False):
        assert f"Task score: {best.rts:.4g} (more is better)" in text(request)
        assert "ubtask" not in text(request)
        told = format_trace({"task_score": best.metric_trace}).strip()
        assert told in text(request) and "near zero, rewrite it from scratch" in text(request)  # as Eureka is
    assert experiment.winner == max(bests, key=lambda o: o.rts).candidate.id


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 8])
def test_any_number_of_candidates(k):
    experiment = run(k=k, n=2)
    assert [len(got) for got in experiment.got(Train)] == [k, k]


@pytest.mark.slow
def test_what_cannot_be_trained_is_not_analysed_and_nothing_at_all_stops_it():
    def failing(bad):
        return lambda r: tuple(Outcome(o.candidate, False, "NaN") if bad(o.candidate.id) else o for o in filmed(r))

    experiment = run(n=2, train=failing(lambda name: name.endswith("-2")))
    assert len(asking(experiment, "analyse")) == 6
    with pytest.raises(MethodError, match="iteration 2: none of the 4 candidates could be trained"):
        run(train=failing(lambda name: name.startswith("2-")))


def test_state_statistics_survive_saving(rda_experiment):
    outcomes = rda_experiment.got(Train)[0]
    assert result_from_json("Train", result_to_json("Train", outcomes)) == outcomes
    assert outcomes[0].states == STATES
