"""The allow-list alone, and what a dry run catches beyond it."""

from __future__ import annotations

import pytest

from simulation.rewards import sandbox
from simulation.rewards.contract import compile_reward
from simulation.rewards.parsing import Refused
from simulation.rewards.verdict import Verdict
from tests.simulation.hostile.source_attacks import CAUGHT, HARMLESS, REFUSED
from tests.simulation.syntax import check_syntax


def test_the_allow_list_refuses_each():
    assert len(REFUSED) > 140
    for name, source in REFUSED.items():
        verdict = check_syntax(source, "Cartpole")
        assert not verdict.ok and verdict.reason, name
        assert verdict.stage in ("parse", "allow-list"), name
        with pytest.raises(Refused):
            compile_reward(source, "Cartpole")
            pytest.fail(name)


@pytest.mark.slow
def test_the_dry_run_catches_each_and_rewriting_makes_some_harmless():
    sources = {name: source for name, (_, _, source) in CAUGHT.items()} | HARMLESS
    verdicts = dict(zip(sources, sandbox.check("Cartpole", list(sources.values()), timeout=200.0), strict=True))
    for name, (stage, reason, source) in CAUGHT.items():
        assert check_syntax(source, "Cartpole").ok, name
        assert (verdicts[name].ok, verdicts[name].stage) == (False, stage), (name, verdicts[name].reason)
        assert reason in verdicts[name].reason, name
    assert {name: verdicts[name] for name in HARMLESS} == dict.fromkeys(HARMLESS, Verdict(True, "done"))
