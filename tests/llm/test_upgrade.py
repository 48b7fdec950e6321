"""Experiments that a build with other prompts, or another flow, began, and that this one goes on with."""

import dataclasses
import json

import pytest

from llm import methods, prompts
from llm.errors import ReplayMismatch
from llm.messages import first_prompt
from llm.method import Method
from llm.methods import OFFERED
from llm.records import Judge, Train, Write, describe_meaning, make_payload
from llm.replay import Finished, Open, Record, Saved, advance, group_versions, main, read_record, replay, write_record
from tests.llm.experiment import PROBLEM, VARIANTS, Experiment, make_small_experiment, name_case, without_options

OTHER = "\n\nTake your time."
SIZE = {"n": 2, "budget": 8}
WORDED = ("Write", "Ask", "Look")


class Today(Experiment):
    """Goes on as the loop does: by what an answer is about, not by its words."""

    def advance(self, saved):
        return advance(self.method, self.problem, self.seed, self.k, self.n, saved, self.options, strict=False)


@pytest.fixture(scope="module")
def earlier_prompts(tmp_path_factory):
    """A folder of prompts, each with a sentence more."""
    folder = tmp_path_factory.mktemp("prompts")
    for name in prompts.list_names():
        (folder / f"{name}.txt").write_text((prompts.FOLDER / f"{name}.txt").read_text().rstrip() + OTHER)
    return folder


@pytest.fixture(scope="module")
def earlier_experiment(earlier_prompts):
    """Gives a whole experiment of the build with the earlier prompts."""
    kept = {}

    def run(case):
        if name_case(case) not in kept:
            with pytest.MonkeyPatch.context() as patch:
                prompts._read_template.cache_clear()
                patch.setattr(prompts, "FOLDER", earlier_prompts)
                experiment = make_small_experiment(*case, **SIZE)
                kept[name_case(case)] = experiment, experiment.run()
            prompts._read_template.cache_clear()
        return kept[name_case(case)]

    return run


def reworded(rows, today):
    """The steps of these rows that were asked in other words than the experiment of today asks them."""
    asked = {(row.step, row.position): row.fingerprint for row in today}
    return tuple(sorted({row.step for row in rows if row.fingerprint != asked[row.step, row.position]}))


@pytest.mark.parametrize("case", without_options(OFFERED), ids=name_case)
def test_what_was_begun_with_other_prompts_goes_on_from_every_step(case, earlier_experiment):
    earlier, winner = earlier_experiment(case)
    today = make_small_experiment(*case, kind=Today, **SIZE)
    answers = {(row.step, row.position): row for row in earlier.saved}
    while isinstance(end := today.advance(today.saved), Open):
        for position in end.missing:
            row = answers[end.step, position]
            assert row.meaning == describe_meaning(row.kind, make_payload(end.requests[position]))
            today.saved.append(dataclasses.replace(row, fingerprint=end.fingerprint(position)))
    assert end == Finished(winner)
    for kept in range(len(earlier.saved) + 1):
        rows = json.loads(json.dumps([dataclasses.asdict(s) for s in earlier.saved[:kept] + today.saved[kept:]]))
        rows = [Saved(**row) for row in rows]
        assert today.advance(rows) == Finished(winner, reworded(rows[:kept], today.saved))
    worded = {row.step for row in earlier.saved if row.kind in WORDED}
    assert bool(worded) == OFFERED[case[0]].writes and set(reworded(earlier.saved, today.saved)) == worded


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", [*without_options(OFFERED), *VARIANTS], ids=name_case)
def test_what_was_begun_with_other_prompts_is_finished_by_this_writer(case, earlier_experiment):
    earlier, _ = earlier_experiment(case)
    for kept in range(len(earlier.saved)):
        resumed = make_small_experiment(*case, kind=Today, **SIZE, saved=list(earlier.saved[:kept]))
        winner = resumed.run()
        trained = [row for row in resumed.saved if row.kind == "Train"]
        assert winner in [outcome["candidate"]["id"] for row in trained for outcome in row.result]


# --- another flow ---------------------------------------------------------------------------------------------


def before(problem, rng, k, n):
    """The flow of revision 1."""
    candidates = yield Write(1, first_prompt(problem), k, 1)
    outcomes = yield Train(1, candidates)
    pick = yield Judge(1, outcomes)
    return pick.best


def after(problem, rng, k, n):
    """The flow of revision 2: the first candidate is trained by itself."""
    first = yield Write(1, first_prompt(problem), k, 1)
    alone = yield Train(1, first[:1])
    others = yield Train(1, first[1:])
    pick = yield Judge(1, alone + others)
    return pick.best


def registered(monkeypatch, function, revision):
    monkeypatch.setitem(methods.METHODS, "made_up", Method("made_up", "Made up", "", function, revision=revision))


def test_an_answer_to_something_else_stops_a_live_experiment_too(monkeypatch):
    registered(monkeypatch, before, 1)
    experiment = Today(method="made_up", k=3, n=1)
    experiment.run()
    registered(monkeypatch, after, 2)
    told = r"step 1 \(Train\): the method now asks something else than was saved: candidates 1-1, saved 1-1, 1-2, 1-3"
    with pytest.raises(ReplayMismatch, match=told):
        experiment.advance(experiment.saved)
    assert experiment.advance(experiment.saved[:1]).step == 1


# --- records --------------------------------------------------------------------------------------------------


@pytest.fixture
def record(earlier_experiment):
    """What the earlier build recorded of an experiment, whose last requests came from a later version."""
    earlier, winner = earlier_experiment(("icpl", {}))
    rows = [dataclasses.replace(row, version="0.1.0" if row.step < 4 else "0.2.0") for row in earlier.saved]
    return Record(PROBLEM, "icpl", earlier.seed, 3, 2, tuple(rows), {}, winner)


def test_a_record_replays_strictly_unless_asked_otherwise(record, tmp_path, capsys):
    path = tmp_path / "a.json"
    write_record(path, record)
    assert main([str(path)]) == 1
    assert "step 0 (Write): the method now asks in other words than was saved" in capsys.readouterr().err
    assert main(["--lenient", str(path)]) == 0
    told = capsys.readouterr().out
    for line in (
        "from step 0 on asked by 0.1.0",
        "from step 4 on asked by 0.2.0",
        "step 0 (Write): the method now asks in other words than was saved",
        "step 3 (Write): the method now asks in other words than was saved",
        f"winner: {record.winner}",
    ):
        assert line in told.splitlines()


def test_lenient_is_no_licence_for_another_answer(record, tmp_path, capsys):
    other = dataclasses.replace(record.requests[1], meaning={"iteration": 1, "candidates": ["1-1"]})
    path = tmp_path / "a.json"
    write_record(path, dataclasses.replace(record, requests=(record.requests[0], other, *record.requests[2:])))
    assert main(["--lenient", str(path)]) == 1
    assert "step 1 (Train): the method now asks something else" in capsys.readouterr().err


def test_a_record_of_the_first_format_is_read(record, tmp_path):
    data = dataclasses.asdict(record) | {"format": 1}
    for name in ("revision", "ended_early", "set_aside"):
        del data[name]
    for row in data["requests"]:
        del row["meaning"], row["version"]
    (tmp_path / "a.json").write_text(json.dumps(data))
    read = read_record(tmp_path / "a.json")
    assert replay(read, strict=False).candidate == record.winner
    assert group_versions((row.step, row.version) for row in read.requests) == [(0, "")]


def test_a_record_that_was_ended_early_says_so(record):
    with pytest.raises(ReplayMismatch, match="ended before its method was through"):
        replay(dataclasses.replace(record, ended_early=True))
