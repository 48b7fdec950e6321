"""What the offline writer reads of history, and which methods it cannot tell apart."""

from __future__ import annotations

import random

from llm.feedback import Feedback, Round, write_prompt
from llm.forms import find_form
from llm.methods import get_method as find_method
from llm.offline.reading import Past, Row, read
from llm.offline.refining import Search, follow_history, is_saturated, refine, share_in
from llm.offline.sight import reads_alike
from llm.offline.syntax_tree import Program
from llm.records import Candidate, Outcome
from tests.llm.experiment import PROBLEM

SOURCE = """def compute_reward(dof_pos: torch.Tensor, dof_vel: torch.Tensor):
    upright_temperature = 0.5
    upright = 1.0 * torch.exp(-torch.square(dof_pos[:, 1]) / upright_temperature)
    calm = -0.5 * torch.square(dof_vel[:, 1])
    total_reward = upright + calm
    return total_reward, {"upright": upright, "calm": calm}
"""


def flow(name, k=3, n=4, **options):
    return name, k, n, find_method(name).settings(options)


def tried(number, upright, calm):
    rows = {"upright": [upright] * 3, "calm": [-calm] * 3}
    trace = {name: {"samples": v, "max": max(v), "mean": v[0], "min": min(v)} for name, v in rows.items()}
    return Outcome(Candidate(f"{number}-1", SOURCE), True, trace=trace, rts=1.0)


def rounds():
    """Three bests, of which each gives less to `calm`: a half, a third, a quarter of all."""
    bests = [tried(1, 1.0, 1.0), tried(2, 1.0, 0.5), tried(3, 1.5, 0.5)]
    words = ["", "It adds `upright`. It drops `spin`, `drift`.", "It moves the numbers of calm from 1 to 0.5."]
    return [Round(n, best, None, said, "") for n, (best, said) in enumerate(zip(bests, words, strict=True), 1)]


def search_in(reading):
    program = Program.parse(SOURCE)
    assert program is not None
    return Search(program, random.Random(0), reading, [], [])


def test_it_reads_the_traces_and_changes_of_earlier_bests():
    reading = read(write_prompt(PROBLEM, rounds(), Feedback()).messages)
    assert [round(share_in(past.trace, "calm"), 3) for past in reading.history] == [0.5, 0.333]
    assert reading.history[1].added == {"upright"} and reading.history[1].dropped == {"spin", "drift"}
    assert round(share_in(reading.preferred.trace, "calm"), 3) == 0.25
    blind = read(write_prompt(PROBLEM, rounds(), Feedback(traces=False, differences=False)).messages)
    assert all(not past.trace for past in blind.history) and blind.history != reading.history


def test_a_component_whose_share_fell_from_best_to_best_counts_for_less():
    """From a half to a quarter: its weight times sqrt(1/2); the other's share rose, its weight: sqrt(3/2)."""
    search = search_in(read(write_prompt(PROBLEM, rounds(), Feedback()).messages))
    follow_history(search)
    assert search.done == ["`upright` x 1.22", "`calm` x 0.707"]
    without = search_in(read(write_prompt(PROBLEM, rounds(), Feedback(traces=False)).messages))
    follow_history(without)
    assert without.done == []


def test_what_a_best_dropped_does_not_come_back_and_what_it_added_counts_for_more():
    reading = read(write_prompt(PROBLEM, rounds(), Feedback()).messages)
    changed = type(reading)(**{**vars(reading), "history": (), "change": Past({}, frozenset({"calm"}))})
    search = search_in(changed)
    follow_history(search)
    assert search.done == ["`calm` x 1.3"]


def test_a_saturated_component_gets_a_higher_temperature():
    climbing, settled = (0.1, 0.4, 0.7, 1.0, 1.3, 1.6), (0.1, 0.6, 0.9, 0.99, 1.0, 1.0)
    assert not is_saturated(Row(climbing, 1.6, 0.9, 0.1)) and is_saturated(Row(settled, 1.0, 0.8, 0.1))
    assert not is_saturated(Row((1.0,) * 6, 1.0, 1.0, 1.0)), "what never moved is flat, not saturated"
    trace = {"upright": {"samples": list(settled), "max": 1.0, "mean": 0.8, "min": 0.1}}
    best = Outcome(Candidate("1-1", SOURCE), True, trace=trace)
    reading = read(write_prompt(PROBLEM, [Round(1, best, None, "", "")], Feedback()).messages)
    _, done = refine(reading, 2, random.Random(0), [])
    assert "temperature of `upright` x 2.5, because it saturates" in done


def test_ablations_that_it_reads_are_told_apart_and_options_that_it_does_not_read_are_not():
    whole = flow("icpl")
    assert not reads_alike(PROBLEM, whole, flow("icpl_wo_rt"))
    assert not reads_alike(PROBLEM, flow("icpl_wo_rt"), flow("icpl_wo_rtd"))
    assert not reads_alike(PROBLEM, whole, flow("icpl_wo_rtdb")) and not reads_alike(PROBLEM, whole, flow("open_loop"))
    assert reads_alike(PROBLEM, whole, flow("icpl", measures=True)), "what films measure reaches the prompt, unread"
    assert reads_alike(PROBLEM, whole, whole)
    assert find_form(PROBLEM).traced
