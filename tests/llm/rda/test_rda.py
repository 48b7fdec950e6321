"""Recorded experiments of RDA and its ablations, followed step by step."""

import re

import pytest

from llm.errors import MethodError
from llm.messages import trace_text
from llm.methods.rda.analysis import cascade_failures, read_analysis, scores_any, summarise, summary_text
from llm.methods.rda.subtasks import read_subtasks, revise_subtasks
from llm.offline import OfflineWriter
from llm.records import (
    Ask,
    Candidate,
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


# --- reflection on subtasks ---------------------------------------------------------------------------------------


class Scripted:
    """Answers by heading; everything else as the offline writer does."""

    def __init__(self, backend, answers):
        self.backend, self.answers, self.model, self.endpoint = backend, answers, "scripted", "test"

    def complete(self, messages, count, seed, on_reply=None):
        replies = self.backend.complete(messages, count, seed)
        for what, said in self.answers.items():
            if f"# Now: {what}" in messages[-1]["content"]:
                told = said(messages) if callable(said) else said
                replies = [type(r)(**{**vars(r), "text": told}) for r in replies]
        for reply in replies:
            if on_reply:
                on_reply(reply)
        return replies


def scripted(**answers):

    return Scripted(OfflineWriter(), {what: said for what, said in answers.items()})


@pytest.mark.slow
def test_at_most_one_subtask_is_revised_and_their_number_stays():
    experiment = run(backend=scripted(revise="Revise 2: Straight: it goes straight ahead\nRevise 3: Another: too much"))
    before, after = (section(text(r), "Subtasks").splitlines() for r in experiment.of(Write)[:2])
    assert len(before) == len(after) and after[1] == "2. Straight: it goes straight ahead"
    assert [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [1]
    kept = run(backend=scripted(revise="Revise 2: Straight: it goes straight"), options={"subtask_reflection": False})
    assert not asking(kept, "revise")
    assert len({section(text(r), "Subtasks") for r in kept.of(Write)}) == 1


@pytest.mark.parametrize(
    "answer", ["Keep all", "Revise 9: Beyond: there is none", "I would revise the second one.", "", "Revise 0: x: y"]
)
def test_other_answers_revise_nothing(answer):
    assert revise_subtasks(("a: b", "c: d"), answer) == ("a: b", "c: d")


def test_a_model_that_lists_no_subtasks_leaves_the_task_as_the_only_one():
    experiment = run(n=1, backend=scripted(list="I cannot do that."))
    assert section(text(experiment.of(Write)[0]), "Subtasks") == f"1. Success: {experiment.problem.description}"


def test_of_a_numbered_list_only_the_items_are_subtasks():
    items = "1. Stand: up\n   - on all feet\n2) **Walk**: ahead\n- Note: these are in order."
    assert read_subtasks(items, "run") == ("Stand: up", "Walk: ahead")
    assert read_subtasks("- Stand: up\n* Walk: ahead", "run") == ("Stand: up", "Walk: ahead")
    assert read_subtasks("- Stand: up\n- Run: faster than\n  1.5 m/s", "run") == ("Stand: up", "Run: faster than")
    assert read_subtasks("- Stand: up\n- Walk: for\n 3. seconds", "run")[:2] == ("Stand: up", "Walk: for")


# --- the analysis -------------------------------------------------------------------------------------------------

ANSWER = """Here is what I see.

**Subtask 1**
Behaviour: it stands up.
Evidence: none
Score: 1
Reason: all four feet are on the ground

Subtask 2: walking
Behaviour: it shuffles
Evidence: none
Score: 0
Reason: it stays in place

### Subtask 3
Behaviour: it turns
Evidence: frames 4 to 9 show a full turn
Score: **0.5**
Reason: only once

Subtask 4
Behaviour: it seems to run
Evidence: none
Score: 1.0
Reason: legs move fast
"""


def test_a_failed_subtask_fails_the_later_ones_unless_there_is_evidence():
    findings = read_analysis(ANSWER, 5)
    assert [f.score for f in findings] == [1, 0, 0.5, 1, 0]
    assert findings[4].reason == "the analysis does not speak of it"
    judged = cascade_failures(findings)
    assert [f.score for f in judged] == [1, 0, 0.5, 0, 0]
    assert judged[3].reason == "subtask 2 failed before it" and judged[1].reason == "it stays in place"


@pytest.mark.parametrize(
    "line, score",
    [
        ("Score: 1/2", 0.5),
        ("score = 0.5", 0.5),
        ("Score: \u00bd", 0.5),
        ("Score: 1 / 2", 0.5),
        ("Score: 0,5", 0.5),
        ("Score: 1, as it stands", 1),
        ("Score: 0.4", 0.5),
        ("Score: 0.9", 1),
        ("Score: (0.5)", 0.5),
        ("Score: 0.5 (in 3 of 10 frames)", 0.5),
        ("Score (0, 0.5 or 1): 1", 1),
        ("**Score [0/0.5/1]:** 1/2", 0.5),
        ("Score <0, 0.5 or 1>: 0", 0),
        ("none", 0),
    ],
)
def test_scores_are_read_as_models_write_them(line, score):
    assert read_analysis(f"Subtask 1\nBehaviour: x\n{line}\n", 1)[0].score == score


@pytest.mark.parametrize(
    "answer", ["", "I cannot help with that.", '{"subtasks": [{"score": 1}]}', "| Subtask 1 | it stands | 1 |"]
)
def test_what_is_no_analysis_sees_nothing(answer):
    assert [f.score for f in read_analysis(answer, 2)] == [0, 0]
    assert {f.reason for f in read_analysis(answer, 2)} == {"the analysis does not speak of it"}
    assert not scores_any(answer, 2) and scores_any(ANSWER, 2)


def test_coming_back_to_a_subtask_takes_nothing_from_it():
    answer = "Subtask 1\nScore: 1\n\nSubtask 2\nBehaviour: it limps\nScore: 0.5\n\nSubtask 3\nScore: 1\n"
    recap = "\nIn short:\n- Subtask 1 is done\n- Subtask 2: only half\n- Subtask 3, score: 0"
    assert [(f.score, f.behaviour) for f in read_analysis(answer + recap, 3)] == [(1, ""), (0.5, "it limps"), (1, "")]
    overview = "Subtask 1 and the others:\n\n"
    assert [f.score for f in read_analysis(overview + answer, 3)] == [1, 0.5, 1]


def test_subtasks_in_a_numbered_list_are_told_apart():
    answer = "1. **Subtask 1**\nScore:\n1\n2) Subtask 2: to walk\nScore: 0.5\n"
    assert [f.score for f in read_analysis(answer, 2)] == [1, 0.5]


class Refusing(Scripted):
    """Refuses this many analyses, and then goes on as the offline analyst."""

    def __init__(self, times):

        super().__init__(OfflineWriter(), {})
        self.times = times

    def complete(self, messages, count, seed, on_reply=None):
        if "# Now: analyse" in messages[-1]["content"] and self.times:
            self.times -= 1
            self.answers = {"analyse": "I cannot judge robots."}
        else:
            self.answers = {}
        return super().complete(messages, count, seed, on_reply)


def test_an_analysis_that_scores_nothing_is_asked_for_again():
    experiment = run(n=1, k=2, backend=Refusing(3))  # both, then the first of them once more
    asked = asking(experiment, "analyse")
    assert [said == "I cannot judge robots." for _, said in asked] == [True, True, True, False, False]
    texts = [text(request) for request, _ in asked]
    assert texts[2:4] == texts[:2] and texts[4] == texts[0] and len({request.seed for request, _ in asked}) == 5
    resumed = Experiment(method="rda", k=2, n=1, train=filmed, saved=experiment.saved)
    assert resumed.run() == experiment.winner and not resumed.requests


def test_what_nobody_saw_has_not_failed():
    seen = read_analysis("Subtask 2\nScore: 1\n\nSubtask 3\nScore: 0.5\nReason: slowly\n", 3)
    assert [f.score for f in cascade_failures(seen)] == [0, 1, 0.5]


def test_a_robot_of_which_nothing_can_be_read_is_left_out_and_not_the_worst():
    first = []

    def answer(messages):
        source = section(messages[-1]["content"], "Reward function that the robot was trained with")
        first.append(source)
        return "I cannot judge robots." if source == first[0] else "Subtask 1\nScore: 0"

    experiment = run(n=1, k=2, backend=scripted(analyse=answer))
    assert experiment.winner == "1-2"


def test_where_no_analysis_says_anything_nothing_is_called_the_best():
    with pytest.raises(MethodError, match="iteration 1: no analysis scores a subtask.*'I cannot judge robots.'"):
        run(n=1, k=2, backend=(backend := Refusing(9)))
    assert backend.times == 3


def test_several_looks_are_averaged_and_their_reasons_counted():
    good = "Subtask 1\nScore: 1\nSubtask 2\nScore: 0.5\nReason: it limps"
    bad = "Subtask 1\nScore: 1\nSubtask 2\nScore: 0\nReason: it falls"
    found = [read_analysis(t, 2) for t in (good, bad, bad)]
    summary = summarise(Outcome(Candidate("1-1", ""), True), found)
    assert summary.scores == (1, pytest.approx(0.5 / 3)) and summary.score == pytest.approx((1 + 0.5 / 3) / 2)
    assert summary_text(summary, ("stand: up", "run: far")) == (
        "Mean score of all subtasks: 0.58. Done: 1.\n- Subtask 2 (run: far) scores 0.17: it falls (2 times); it limps"
    )


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
        told = trace_text({"task_score": best.metric_trace}).strip()
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
