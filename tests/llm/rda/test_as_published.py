"""What of RDA is as published: failures merged by meaning, an analysis without subtasks, the success test, frames."""

import dataclasses
import re

import pytest

from llm import replay
from llm.errors import ReplayMismatch
from llm.methods import METHODS
from llm.methods.rda.analysis import (
    format_summary,
    list_worded_differently,
    merge_failures,
    read_analysis,
    summarise,
)
from llm.offline import OfflineWriter
from llm.offline.reading import read_text
from llm.records import Ask, Candidate, Outcome, Train, Write
from tests.llm.experiment import (
    PROBLEM,
    WRITING,
    make_small_experiment,
    prompts,
    without_options,
)
from tests.llm.rda.test_rda import kinds, run, section, text

REASONS = ("It tips over at once.", "It drags a leg.", "At once it tips over to the left.")


def test_failures_that_mean_the_same_are_merged_by_the_model():
    looks = [f"Subtask 1\nScore: 0\nReason: {reason}" for reason in REASONS]
    summary = summarise(Outcome(Candidate("1-1", ""), True), [read_analysis(look, 1) for look in looks])
    assert list_worded_differently(summary) == {1: list(REASONS)}
    merged = merge_failures(summary, "Subtask 1: falls [1, 3]\n**Subtask 1**: drags a leg [2]")
    assert format_summary(merged, ("stand",)).endswith("scores 0.00: falls (2 times); drags a leg")
    for unusable in ("They are alike.", "Subtask 1: falls [1, 3]", "Subtask 1: falls [1, 3, 4]\nSubtask 1: drags [2]"):
        assert merge_failures(summary, unusable) == summary, "each reason in one group, or nothing is merged"


class Looking(OfflineWriter):
    """Its analyses of pictures give other reasons by the seed."""

    def _write_one(self, messages, seed, limit):
        reply = super()._write_one(messages, seed, limit)
        if "# Now: analyse" not in read_text(messages[-1]):
            return reply
        return dataclasses.replace(reply, text=f"Subtask 1\nScore: 0\nReason: {REASONS[seed % 3]}")


@pytest.mark.slow
def test_several_looks_of_the_best_are_merged_before_the_next_rewards():
    experiment = run(k=2, n=3, backend=Looking(), options={"analyst": "frames", "rollouts": 3})
    asked = [(r, a) for r, a in zip(experiment.requests, experiment.results, strict=True) if isinstance(r, Ask)]
    asked = [(r, a) for r, a in asked if "# Now: merge" in text(r)]
    assert 1 <= len(asked) <= 2, "none after the last round, which nothing would follow"
    for request, answer in asked:
        assert any(f"1. {reason}" in text(request) for reason in REASONS)
        places = sorted(int(n) for group in re.findall(r"\[(.+)\]", answer) for n in group.split(","))
        assert places == list(range(1, len(places) + 1))


def test_a_revision_of_the_subtasks_is_not_taken_for_a_merge():
    """Of the method's first revision, which asked for the revision where the merge is asked now."""
    experiment = run(k=2, n=3, backend=Looking(), options={"analyst": "frames", "rollouts": 3})
    asked = list(zip(experiment.requests, experiment.saved, strict=True))
    revise = next(row for request, row in asked if "# Now: revise" in str(getattr(request, "messages", "")))
    merge = next(row for request, row in asked if "# Now: merge" in str(getattr(request, "messages", "")))
    before = [row for row in experiment.saved if row.step < merge.step]
    assert revise.meaning["iteration"] == merge.meaning["iteration"]
    with pytest.raises(ReplayMismatch, match="about merge, saved None"):
        old = dataclasses.replace(revise, step=merge.step)
        replay.advance("rda", PROBLEM, experiment.seed, 2, 3, [*before, old], experiment.options, strict=False)


@pytest.mark.parametrize("analyst", ["numbers", "frames"])
def test_without_subtasks_there_is_one_analysis_of_the_whole(analyst):
    experiment = run(k=2, n=3, options={"subtasks": False, "analyst": analyst, "rollouts": 2})
    looks = 2 * (2 if analyst == "frames" else 1)
    once = ["Write", "Train", *(["Look" if analyst == "frames" else "Ask"] * looks)]
    assert kinds(experiment)[: len(once)] == once
    assert not [p for p in prompts(experiment) if "subtask" in p.lower() and "# Now: merge" not in p]
    said = section(text(experiment.of(Write)[1]), "What the analysis said")
    assert re.match(r"Score: [01]\.\d\d\. ", said)


TEST = "def succeeded(self, env):\n    return env.root_states[:, 0] > PLANTED"


@pytest.mark.parametrize("case", without_options([name for name in WRITING if name not in ("rda", "rda_scored")]))
def test_no_other_method_shows_the_success_test(case):
    planted = dataclasses.replace(PROBLEM, success=TEST)
    experiment = make_small_experiment(*case, n=2, budget=8, problem=planted)
    experiment.run()
    assert not [p for p in prompts(experiment) if "PLANTED" in p or "Success rate" in p]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rda", "rda_scored"])
def test_the_success_test_and_the_rate_of_the_best_are_shown_as_published(method):
    planted = dataclasses.replace(PROBLEM, success=TEST)
    experiment = run(method, k=2, n=3, problem=planted)
    assert all("PLANTED" in text(r) for r in experiment.requests if hasattr(r, "messages"))
    rates = {o.candidate.id: f"{o.rts:.4g}" for trained in experiment.got(Train) for o in trained}
    for request in experiment.of(Write)[1:]:
        assert rates[request.parent] in text(request)
    without = run(method, k=2, n=3, problem=planted, options={"success": False})
    assert not [p for p in prompts(without) if "PLANTED" in p or "Success rate" in p]


def test_frames_are_the_default_where_a_vision_model_is_named():
    rda = METHODS["rda"]
    assert rda.settings({}) == {} and rda.settings({}, True) == {"analyst": "frames"}
    chosen = rda.settings({"analyst": "numbers"}, True)
    assert chosen == {"analyst": "numbers"} == rda.settings(chosen, True), "it stays what somebody chose"
    assert METHODS["icpl"].settings({}, True) == {}
