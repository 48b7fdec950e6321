import dataclasses
import json
import subprocess
import sys

import pytest

from llm import methods
from llm.errors import MethodError, ReplayMismatch
from llm.method import Method, Option
from llm.records import Ask, Candidate, Judge, Outcome, Pick, Train, fingerprint_request, result_to_json
from llm.replay import Finished, Open, Record, Saved, advance, format_rounds, main, read_record, write_record
from tests.llm.experiment import PROBLEM, Experiment


@pytest.fixture(scope="module")
def finished_experiment():
    experiment = Experiment(k=3, n=3)
    winner = experiment.run()
    return experiment, winner


def test_the_order_of_saved_rows_does_not_matter(finished_experiment):
    experiment, winner = finished_experiment
    assert experiment.advance(list(reversed(experiment.saved))) == Finished(winner)


def test_another_seed_is_a_mismatch(finished_experiment):
    experiment, _ = finished_experiment
    with pytest.raises(ReplayMismatch, match=r"step 0 \(Write\): the method now asks in other words"):
        advance("icpl", PROBLEM, experiment.seed + 1, 3, 3, experiment.saved)


def test_another_kind_is_a_mismatch(finished_experiment):
    experiment, _ = finished_experiment
    wrong = [dataclasses.replace(experiment.saved[0], kind="Train"), *experiment.saved[1:]]
    with pytest.raises(ReplayMismatch, match="step 0: the method asks for Write, but the saved request is Train"):
        experiment.advance(wrong)


def test_a_changed_result_is_a_mismatch_at_the_step_it_leads_to(finished_experiment):
    experiment, _ = finished_experiment
    judged = next(i for i, s in enumerate(experiment.saved) if s.kind == "Judge")
    pick = experiment.saved[judged].result
    swapped = dataclasses.replace(
        experiment.saved[judged], result={**pick, "best": pick["worst"], "worst": pick["best"]}
    )
    with pytest.raises(ReplayMismatch, match=r"step 3 \(Write\)"):
        experiment.advance([*experiment.saved[:judged], swapped, *experiment.saved[judged + 1 :]])


def test_fewer_iterations_than_saved_is_a_mismatch(finished_experiment):
    experiment, _ = finished_experiment
    with pytest.raises(ReplayMismatch, match="step"):
        advance("icpl", PROBLEM, experiment.seed, 3, 1, experiment.saved)


def test_a_missing_row_in_the_middle_is_a_mismatch(finished_experiment):
    experiment, _ = finished_experiment
    with pytest.raises(ReplayMismatch, match="stops at step 2, but results are saved for step 10"):
        experiment.advance([s for s in experiment.saved if s.step != 2])


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="unknown method 'magic'; known: .*icpl, .*open_loop"):
        advance("magic", PROBLEM, 1, 3, 3, [])


# --- lists of requests, long runs: methods made for the test ------------------------------------------------------


def register(monkeypatch, function):
    method = Method("made_up", "Made up", "For a test.", function)
    monkeypatch.setitem(methods.METHODS, "made_up", method)


def asks_three_at_once(problem, rng, k, n):
    first = yield [Ask(i, ({"role": "user", "content": str(i)},), i) for i in range(3)]
    second = yield Ask(9, ({"role": "user", "content": "|".join(first)},), 9)
    return second


def test_a_method_tries_no_more_than_its_budget(monkeypatch):
    """Two rounds of two were planned: a third is not opened, nor a second with one candidate more."""

    def greedy(problem, rng, k, n, sizes="22"):
        for i, size in enumerate(sizes):
            yield Train(i, tuple(Candidate(f"{i}-{j}", "code") for j in range(int(size))))

    def steps_of(sizes):
        saved = []
        while True:
            opened = advance("made_up", PROBLEM, 1, 2, 2, saved, {"sizes": sizes})
            (asked,) = opened.requests
            result = result_to_json("Train", tuple(Outcome(c, False) for c in asked.candidates))
            saved.append(Saved(opened.step, 0, "Train", opened.fingerprint(0), result))

    method = Method("made_up", "Made up", "For a test.", greedy, options=(Option("sizes", "22", "Candidates."),))
    monkeypatch.setitem(methods.METHODS, "made_up", method)
    with pytest.raises(MethodError, match="step 2 asks for 2 candidates to be tried: its budget leaves 0"):
        steps_of("222")
    with pytest.raises(MethodError, match="step 1 asks for 3 candidates to be tried: its budget leaves 2"):
        steps_of("23")
    limited = dataclasses.replace(method, options=(*method.options, Option("budget", 9, "In all.")))
    assert limited.candidates_of(2, 2, {}) == 9 and limited.candidates_of(2, 2, {"budget": 5}) == 5
    assert method.candidates_of(2, 3, {}) == 6


def answered(opened, position, result):
    request = opened.requests[position]
    kind = type(request).__name__
    return Saved(opened.step, position, kind, fingerprint_request(request), result_to_json(kind, result))


def test_an_answer_that_is_missing_is_named(monkeypatch):
    register(monkeypatch, asks_three_at_once)
    opened = advance("made_up", PROBLEM, 1, 3, 3, [])
    saved = [Saved(0, position, "Ask", opened.fingerprint(position), None) for position in range(3)]
    with pytest.raises(MethodError, match="step 0: the result of Ask, Ask, Ask is marked as there, and is missing"):
        advance("made_up", PROBLEM, 1, 3, 3, saved)


def test_a_list_of_requests_may_be_answered_in_any_order(monkeypatch):
    register(monkeypatch, asks_three_at_once)
    opened = advance("made_up", PROBLEM, 1, 3, 3, [])
    assert isinstance(opened, Open) and opened.missing == (0, 1, 2)
    saved = [answered(opened, 2, "c")]
    assert advance("made_up", PROBLEM, 1, 3, 3, saved).missing == (0, 1)
    saved += [answered(opened, 0, "a"), answered(opened, 1, "b")]
    last = advance("made_up", PROBLEM, 1, 3, 3, saved)
    assert last.requests[0].messages[0]["content"] == "a|b|c"
    assert advance("made_up", PROBLEM, 1, 3, 3, [*saved, answered(last, 0, "end")]) == Finished("end")


def test_a_position_that_the_step_does_not_have_is_a_mismatch(monkeypatch):
    register(monkeypatch, asks_three_at_once)
    opened = advance("made_up", PROBLEM, 1, 3, 3, [])
    with pytest.raises(ReplayMismatch, match="step 0 has 3 requests"):
        advance("made_up", PROBLEM, 1, 3, 3, [dataclasses.replace(answered(opened, 0, "a"), position=3)])


def judges_ten_thousand_times(problem, rng, k, n):
    outcomes = tuple(Outcome(Candidate(f"1-{i}", "pass"), True, rts=rng.random()) for i in range(k))
    best = "none"
    for iteration in range(10_000):
        pick = yield Judge(iteration, outcomes)
        best = pick.best
    return best


@pytest.mark.slow
def test_ten_thousand_saved_requests_replay(monkeypatch):
    register(monkeypatch, judges_ten_thousand_times)
    opened = advance("made_up", PROBLEM, 1, 3, 3, [])
    (request,) = opened.requests
    pick = result_to_json("Judge", Pick("1-1", "1-2", "why", ("tag",)))
    saved = [
        Saved(i, 0, "Judge", fingerprint_request(dataclasses.replace(request, iteration=i)), pick)
        for i in range(10_000)
    ]
    assert advance("made_up", PROBLEM, 1, 3, 3, saved) == Finished("1-1")
    assert advance("made_up", PROBLEM, 1, 3, 3, saved[:-1]).step == 9_999


# --- records --------------------------------------------------------------------------------------------------


def record(experiment, winner):
    return Record(PROBLEM, "icpl", experiment.seed, 3, 3, tuple(experiment.saved), {}, winner)


@pytest.fixture
def replay_command(capsys):
    """What `./prefine replay` prints, and its exit status; in this process."""

    def run(path):
        status = main([str(path)])
        said = capsys.readouterr()
        return subprocess.CompletedProcess([], status, said.out, said.err)

    return run


def test_a_record_survives_its_file(finished_experiment, tmp_path):
    written = record(*finished_experiment)
    write_record(tmp_path / "a.json", written)
    read = read_record(tmp_path / "a.json")
    assert json.dumps(dataclasses.asdict(read)) == json.dumps(dataclasses.asdict(written))


def test_the_command_replays_a_record_and_prints_its_rounds(finished_experiment, tmp_path):
    experiment, winner = finished_experiment
    write_record(tmp_path / "a.json", record(experiment, winner))
    command = [sys.executable, "-m", "llm.replay", str(tmp_path / "a.json")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr
    assert f"winner: {winner}" in ran.stdout
    lines = ran.stdout.splitlines()
    assert len(lines) == 2 + 3 + 1
    assert all(pick.best in line for pick, line in zip(experiment.got(Judge), lines[2:], strict=False))


@pytest.mark.parametrize("method", ["eureka", "scaling_turn"])
def test_rounds_that_nobody_judges_have_a_line_too(method):
    experiment = Experiment(method=method, k=1 if method == "scaling_turn" else 3, n=3)
    winner = experiment.run()
    written = Record(PROBLEM, method, experiment.seed, experiment.k, 3, tuple(experiment.saved), {}, winner)
    lines = format_rounds(written).splitlines()[1:]
    bests = [max(outcomes, key=lambda o: o.rts) for outcomes in experiment.got(Train)]
    for line, best in zip(lines, bests, strict=True):
        assert best.candidate.id in line and f"{best.rts:.3f}" in line


@pytest.mark.slow
def test_the_best_of_a_round_may_be_of_an_earlier_one():
    experiment = Experiment(method="rf_agent_judged", k=3, n=3, options={"budget": 14})
    winner = experiment.run()
    lines = format_rounds(Record(PROBLEM, "rf_agent_judged", 7, 3, 3, tuple(experiment.saved), {}, winner)).splitlines()
    picks, rounds = experiment.got(Judge), experiment.got(Train)
    known = {o.candidate.id: o.rts for outcomes in rounds for o in outcomes}
    assert any(pick.best not in {o.candidate.id for o in shown} for pick, shown in zip(picks, rounds, strict=True))
    for line, pick in zip(lines[1:], picks, strict=True):
        assert line.split()[2:5] == [pick.best, pick.worst, f"{known[pick.best]:.3f}"]


def test_the_command_fails_on_a_wrong_winner(finished_experiment, tmp_path, replay_command):
    experiment, winner = finished_experiment
    write_record(tmp_path / "a.json", record(experiment, "9-9"))
    ran = replay_command(tmp_path / "a.json")
    assert ran.returncode == 1
    assert f"ends with {winner}, the record with 9-9" in ran.stderr


def test_the_command_shows_where_an_unfinished_record_waits(finished_experiment, tmp_path, replay_command):
    experiment, _ = finished_experiment
    unfinished = dataclasses.replace(record(experiment, None), requests=tuple(experiment.saved[:2]))
    write_record(tmp_path / "a.json", unfinished)
    ran = replay_command(tmp_path / "a.json")
    assert ran.returncode == 0
    assert "waits at step 2 for Judge" in ran.stdout


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"format": 1, "requests": [{}]}'])
def test_a_file_that_is_no_record_is_said_to_be_none(text, tmp_path, replay_command):
    (tmp_path / "a.json").write_text(text)
    ran = replay_command(tmp_path / "a.json")
    assert ran.returncode == 1
    assert "is not an experiment record" in ran.stderr


@pytest.mark.parametrize("change", [{"n": "x"}, {"seed": [1]}, {"result": [{"nope": 1}]}])
def test_a_damaged_record_is_said_to_be_damaged(finished_experiment, tmp_path, change, replay_command):
    data = dataclasses.asdict(record(*finished_experiment))
    data["requests"][0]["result"] = change.pop("result", data["requests"][0]["result"])
    (tmp_path / "a.json").write_text(json.dumps(data | change))
    ran = replay_command(tmp_path / "a.json")
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"replay failed: {tmp_path / 'a.json'} is damaged")


def test_a_missing_file_is_said_to_be_missing(tmp_path, replay_command):
    missing = replay_command(tmp_path / "none.json").stderr
    assert f"cannot read {tmp_path / 'none.json'}: No such file" in missing and "Errno" not in missing
