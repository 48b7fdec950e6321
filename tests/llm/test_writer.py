"""Writing candidates: answers, repairs, and what is bought again after a failure or a stop."""

import contextlib
import dataclasses
import itertools
import random

import pytest

from llm import errors
from llm.writer import write
from tests.llm.experiment import PROBLEM, FakeVerdict
from tests.llm.scripted import REQUEST, Scripted, accept, make_reply, program, refuse


def test_good_answers_become_candidates_in_the_order_of_their_seeds():
    backend = Scripted(lambda messages, seed: program(seed))
    written = write(backend, REQUEST, PROBLEM, accept)
    assert [c.id for c in written.candidates] == ["2-1", "2-2", "2-3"]
    assert ["100.5" in c.source for c in written.candidates] == [True, False, False]
    assert {c.parent for c in written.candidates} == {"1-4"}
    assert (written.error, written.refused, len(written.calls)) == ("", (), 3)


def test_a_program_keeps_what_the_check_noted_about_it():
    backend = Scripted(lambda messages, seed: program(seed))
    written = write(
        backend, REQUEST, PROBLEM, lambda sources: [FakeVerdict(True, notes=("line 2", "line 3")) for _ in sources]
    )
    for candidate in written.candidates:
        assert candidate.notes == ("line 2", "line 3")
        assert candidate.annotated_source.endswith('{"b": b}\n# Note: line 2\n# Note: line 3')


def test_all_answers_are_checked_in_one_batch():
    batches = []

    def check(sources):
        batches.append(len(sources))
        return accept(sources)

    write(Scripted(lambda m, s: program(s)), REQUEST, PROBLEM, check)
    assert batches == [3]


def test_a_failing_answer_is_repaired_with_its_verdict_and_the_allowed_names():
    def script(messages, seed):
        return program("7") if len(messages) > 2 else program(seed)

    backend = Scripted(script)
    written = write(backend, REQUEST, PROBLEM, refuse("101.5"))
    assert not written.error and "7.5" in written.candidates[2].source
    seed, talk = backend.asked[-1]
    assert seed == 103 and talk[:2] == ("s", "write") and "101.5" in talk[2]
    assert "failed at this stage: run" in talk[3] and "a is not defined" in talk[3]
    assert all(f"`{name}`" in talk[3] for name in PROBLEM.inputs)
    assert [(r.seed, r.stage) for r in written.refused] == [(101, "run")]


def test_after_two_repairs_it_asks_afresh():
    def script(messages, seed):
        return program("bad") if len(messages) > 2 or seed == 101 else program(seed)

    backend = Scripted(script)
    written = write(backend, REQUEST, PROBLEM, refuse("bad"))
    lengths = [len(talk) for _, talk in backend.asked]
    assert not written.error
    assert lengths == [2, 2, 2, 4, 6, 2]


def test_it_gives_up_at_four_answers_a_candidate_and_says_what_failed_most():
    backend = Scripted(lambda m, s: program(s))
    written = write(backend, REQUEST, PROBLEM, refuse("a", "allow-list", "open() is not allowed"))
    assert len(backend.asked) == len(written.calls) == 12
    assert written.candidates == () and len(written.refused) == 12
    assert "only 0 of 3" in written.error and "'allow-list' (12 times)" in written.error
    assert "open() is not allowed" in written.error and not written.permanent


def test_what_succeeded_is_kept_when_the_rest_does_not():
    backend = Scripted(lambda m, s: program(s) if s == 100 else program("bad"))
    written = write(backend, REQUEST, PROBLEM, refuse("bad"))
    assert "only 1 of 3" in written.error and len(written.candidates) == 1


def test_the_same_program_twice_is_sampled_again_not_repaired():
    backend = Scripted(lambda m, s: program(min(s, 101)) if s < 103 else program(s))
    written = write(backend, REQUEST, PROBLEM, accept)
    assert not written.error
    assert [r.stage for r in written.refused] == ["duplicate"]
    assert [len(talk) for _, talk in backend.asked] == [2, 2, 2, 2]


def test_programs_that_differ_only_in_comments_are_the_same():
    def script(messages, seed):
        return program("1").replace("    b =", f"    # number {seed}\n    b =") if seed < 103 else program(seed)

    written = write(Scripted(script), REQUEST, PROBLEM, accept)
    assert [r.stage for r in written.refused] == ["duplicate", "duplicate"]


def test_a_cut_off_answer_is_asked_again():
    def script(messages, seed):
        return make_reply(messages, seed, program(seed)[:60], "length") if seed == 101 else program(seed)

    backend = Scripted(script)
    written = write(
        backend, REQUEST, PROBLEM, lambda sources: [FakeVerdict("return" in s, "parse", "bad") for s in sources]
    )
    assert not written.error and [r.stage for r in written.refused] == ["cut off"]
    assert [len(talk) for _, talk in backend.asked] == [2, 2, 2, 2]


@pytest.mark.parametrize(("text", "reason"), [("I would rather not.", "no Python function"), ("", "is empty")])
def test_an_answer_without_code_is_repaired(text, reason):
    backend = Scripted(lambda m, s: text if s == 101 else program(s))
    written = write(backend, REQUEST, PROBLEM, accept)
    assert not written.error
    assert reason in written.refused[0].reason and reason in backend.asked[3][1][3]


@pytest.mark.parametrize(
    ("error", "permanent"), [(errors.Unauthorized("bad key"), True), (errors.RateLimited("wait"), False)]
)
def test_a_failing_endpoint_is_a_result(error, permanent):
    written = write(Scripted(lambda m, s: error), REQUEST, PROBLEM, accept)
    assert (written.error, written.permanent, written.candidates) == (str(error), permanent, ())


def test_replies_that_arrived_survive_a_failure_and_are_not_paid_twice():
    kept = []
    failing = Scripted(lambda m, s: errors.Unauthorized("bad key") if s == 102 else program(s))
    first = write(failing, REQUEST, PROBLEM, accept, on_call=kept.append)
    assert first.error == "bad key" and [r.seed for r in kept] == [100, 101]
    healthy = Scripted(lambda m, s: program(s))
    second = write(healthy, REQUEST, PROBLEM, accept, saved=kept)
    assert not second.error and [seed for seed, _ in healthy.asked] == [102]
    assert [r.seed for r in second.calls] == [100, 101, 102]


def test_killed_after_any_reply_it_ends_the_same_and_asks_only_for_the_rest():
    def script(messages, seed):
        return program("bad") if seed in (100, 101, 104) else program(seed)

    whole = write(Scripted(script), REQUEST, PROBLEM, refuse("bad"))
    assert not whole.error and len(whole.calls) > 4
    for kept in range(len(whole.calls) + 1):
        backend = Scripted(script)
        again = write(backend, REQUEST, PROBLEM, refuse("bad"), saved=whole.calls[:kept])
        assert again == whole
        assert len(backend.asked) == len(whole.calls) - kept


def test_a_retry_after_the_budget_was_spent_may_ask_for_more():
    hopeless = write(Scripted(lambda m, s: program("bad")), REQUEST, PROBLEM, refuse("bad"))
    better = Scripted(lambda m, s: program(s))
    written = write(better, REQUEST, PROBLEM, refuse("bad"), saved=hopeless.calls)
    assert not written.error and {s for s, _ in better.asked}.isdisjoint({r.seed for r in hopeless.calls})


FOUR = dataclasses.replace(REQUEST, count=4)
OOPS = errors.ServerFailed("oops")


def failing_at(*seeds):
    return lambda messages, seed: OOPS if seed in seeds else program(seed)


@pytest.mark.parametrize(("lost", "also"), [(100, 101), (101, 102), (102, 103), (103, 100)])
def test_an_answer_that_came_in_place_of_a_lost_one_is_used_by_the_next_run(lost, also):
    kept = []
    failed = write(Scripted(failing_at(lost, also, 105, 106)), FOUR, PROBLEM, accept, on_call=kept.append)
    assert failed.error == "oops" and {lost, also}.isdisjoint(r.seed for r in kept) and kept[-1].seed == 104
    backend = Scripted(failing_at())
    written = write(backend, FOUR, PROBLEM, accept, saved=kept)
    assert not written.error and len(kept) == 3 and len(backend.asked) == 1
    assert {r.seed for r in kept} < {r.seed for r in written.calls}


@pytest.mark.parametrize("lost", range(100, 104))
def test_killed_after_an_answer_in_place_of_a_lost_one_it_ends_the_same_and_buys_nothing(lost):
    whole = write(Scripted(failing_at(lost)), FOUR, PROBLEM, accept)
    assert not whole.error and whole.calls[-1].seed == 104
    silent = Scripted(lambda m, s: pytest.fail("asked again"))
    assert write(silent, FOUR, PROBLEM, accept, saved=whole.calls) == whole


def test_the_seed_of_an_answer_that_stood_in_for_another_is_not_asked_again():
    kept = []
    write(Scripted(failing_at(101, 102, 105, 106)), FOUR, PROBLEM, accept, on_call=kept.append)
    backend = Scripted(lambda m, s: program(100 if s == 102 else s))  # what is bought first is a duplicate
    written = write(backend, FOUR, PROBLEM, accept, saved=kept)
    assert not written.error and [seed for seed, _ in backend.asked] == [102, 105]


def refuse_all(*words):
    return lambda sources: [FakeVerdict(not set(words) & set(s.split()), "run", "a is not defined") for s in sources]


def test_a_saved_repair_is_used_under_another_seed():
    kept, check = [], refuse_all("100.5", "101.5")
    script = {100: OOPS, 103: program("7"), 104: OOPS}
    failed = write(Scripted(lambda m, s: script.get(s, program(s))), REQUEST, PROBLEM, check, on_call=kept.append)
    assert failed.error == "oops" and [r.seed for r in kept] == [101, 102, 103]
    backend = Scripted(lambda m, s: program("8") if len(m) > 2 else program(s))
    written = write(backend, REQUEST, PROBLEM, check, saved=kept)
    assert not written.error and len(backend.asked) == 2, "the lost answer, and its repair"
    assert {c.source.split()[4] for c in written.candidates} == {"102.5", "7.5", "8.5"}


def test_a_saved_answer_comes_before_a_repair_that_has_to_be_bought():
    kept, check = [], refuse_all("101.5", "102.5")
    failing = Scripted(lambda m, s: OOPS if len(m) > 2 or s > 105 else program(s))
    failed = write(failing, REQUEST, PROBLEM, check, on_call=kept.append)
    assert failed.error == "oops" and [r.seed for r in kept] == [100, 101, 102, 105]
    backend = Scripted(failing_at())
    written = write(backend, REQUEST, PROBLEM, check, saved=kept)
    assert not written.error and len(backend.asked) == 1 and "105.5" in written.candidates[1].source


def unlucky(schedule, run, kept):
    """Words and seed of an answer decide whether it is good; each may fail this time, or be the last before a kill."""

    def luck(*what):
        return random.Random(repr((schedule, *what))).random()

    def script(messages, seed):
        if luck("fails", run, messages, seed) < 0.4:
            return OOPS
        value = luck("good", messages, seed)
        return program(f"good{value}" if value < 0.4 else f"bad{value}")

    def keep(reply):
        kept.append(reply)
        if luck("kill", run, reply.request_hash) < 0.1:
            raise Stop

    return Scripted(script), keep


@pytest.mark.slow
def test_whatever_fails_and_whenever_it_is_killed_every_good_answer_becomes_a_candidate():
    for schedule in range(100):
        kept, written = [], None
        for run in itertools.count():
            backend, keep = unlucky(schedule, run, kept)
            with contextlib.suppress(Stop):
                written = write(backend, FOUR, PROBLEM, refuse("bad"), list(kept), keep)
            if written and not written.error:
                break
        assert sum("good" in reply.text for reply in kept) == 4, schedule
        assert len({reply.request_hash for reply in kept}) == len(kept), schedule


def lost_repair(failure):
    """Answers of which the second and third are refused; the call for the repair of the second fails."""

    def script(messages, seed):
        if len(messages) == 2:
            return program(seed)
        return failure if "101.5" in messages[-2]["content"] else program("7")

    return Scripted(script), lambda sources: [
        FakeVerdict(not {"101.5", "102.5"} & set(s.split()), "run") for s in sources
    ]


def test_a_repair_call_that_fails_costs_only_that_repair():
    backend, check = lost_repair(errors.RateLimited("slow down"))
    written = write(backend, REQUEST, PROBLEM, check)
    assert written.error == ""
    assert [c.source.split()[4] for c in written.candidates] == ["100.5", "7.5", "105.5"]
    assert [seed for seed, _ in backend.asked] == [100, 101, 102, 103, 104, 105]


def test_a_repair_call_that_can_never_succeed_stops_the_writing():
    backend, check = lost_repair(errors.Unauthorized("wrong key"))
    written = write(backend, REQUEST, PROBLEM, check)
    assert (written.error, written.permanent) == ("wrong key", True)


class Stop(Exception):
    pass


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_nothing_is_bought_after_a_stop(rounds):
    backend, checks = Scripted(lambda messages, seed: program(seed)), []

    def check(sources):
        checks.append(sources)
        return refuse(".5")(sources)

    def stop_check():
        if len(checks) == rounds:
            raise Stop

    with pytest.raises(Stop):
        write(backend, REQUEST, PROBLEM, check, stop_check=stop_check)
    assert len(backend.asked) == 3 * rounds


def test_what_was_bought_before_a_stop_is_used_afterwards():
    def stop_check():
        raise Stop

    bought = write(Scripted(lambda messages, seed: program(seed)), REQUEST, PROBLEM, accept).calls
    written = write(Scripted(None), REQUEST, PROBLEM, accept, bought, stop_check=stop_check)
    assert len(written.candidates) == 3


def test_some_lost_replies_are_replaced_by_fresh_ones():
    backend = Scripted(lambda m, s: errors.ServerFailed("oops") if s == 101 else program(s))
    written = write(backend, REQUEST, PROBLEM, accept)
    assert not written.error and [s for s, _ in backend.asked] == [100, 101, 102, 103]
