from llm.methods import METHODS
from llm.records import Choose, Judge, Train, Write
from tests.llm.experiment import Experiment


def test_it_writes_k_times_n_candidates_from_the_first_prompt():
    experiment = Experiment(method="open_loop", k=3, n=4)
    experiment.run()
    writes = experiment.of(Write)
    assert len(writes) == 4
    assert len({w.messages for w in map(_hashable, writes)}) == 1
    assert len({w.seed for w in writes}) == 4
    assert sum(len(c) for c in experiment.got(Write)) == 12
    assert {c.parent for written in experiment.got(Write) for c in written} == {None}
    assert len({c.source for written in experiment.got(Write) for c in written}) == 12


def _hashable(write):
    return Write(write.iteration, tuple(str(m) for m in write.messages), write.count, write.seed)


def test_the_winner_is_the_best_of_all():
    experiment = Experiment(method="open_loop", k=3, n=4)
    winner = experiment.run()
    outcomes = [o for trained in experiment.got(Train) for o in trained]
    assert winner == max(outcomes, key=lambda o: o.rts).candidate.id
    assert len(experiment.of(Judge)) == 4 and len(experiment.of(Choose)) == 1


def test_it_has_as_many_candidates_as_icpl_on_every_task() -> None:
    for task, rounds in (("Ant", 5), ("HumanoidJump", 6)):
        assert {METHODS[name].propose_rounds(task) for name in ("icpl", "icpl_wo_rtdb", "open_loop")} == {rounds}
