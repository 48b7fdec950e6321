"""The allow-list alone, and what a dry run catches beyond it."""

from __future__ import annotations

import pytest

from simulation.rewards import sandbox
from simulation.rewards.contract import compile_reward
from simulation.rewards.parsing import Refused
from simulation.rewards.verdict import Verdict
from tests.simulation.hostile.source_attacks import CAUGHT, HARMLESS, REFUSED
from tests.simulation.syntax import check_syntax


@pytest.mark.parametrize("name", REFUSED)
def test_the_allow_list_refuses_it(name: str):
    verdict = check_syntax(REFUSED[name], "Cartpole")
    assert not verdict.ok
    assert verdict.stage in ("parse", "allow-list")
    assert verdict.reason
    with pytest.raises(Refused):
        compile_reward(REFUSED[name], "Cartpole")


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    sources = {name: source for name, (_, _, source) in CAUGHT.items()} | HARMLESS
    return dict(zip(sources, sandbox.check("Cartpole", list(sources.values()), timeout=200.0), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", CAUGHT)
def test_the_dry_run_catches_it(name: str, verdicts: dict[str, Verdict]):
    stage, reason, source = CAUGHT[name]
    assert check_syntax(source, "Cartpole").ok
    assert (verdicts[name].ok, verdicts[name].stage) == (False, stage), verdicts[name].reason
    assert reason in verdicts[name].reason


@pytest.mark.slow
@pytest.mark.parametrize("name", HARMLESS)
def test_rewriting_makes_it_harmless(name: str, verdicts: dict[str, Verdict]):
    assert verdicts[name] == Verdict(True, "done")
