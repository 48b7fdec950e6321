"""Controls in batches: the same methods, judges and seeds as on the site, and a file that holds the experiments."""

import re
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.batch import Training, Trainings
from benchmarks.controls import __main__ as controls
from benchmarks.controls.searches import Search, run_searches
from simulation import catalog
from simulation.rewards.verdict import Verdict
from trainer.records import CandidateResult
from webapp.base.statistics.corrections import holm
from webapp.experiments import loop
from webapp.experiments.models import Experiment

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text()
WORDS = " ".join(PAGE.split())


class MadeUp(Trainings):
    """The longer a program, the better its policy; nothing is trained."""

    def train(self, wanted):
        row = {"samples": [0.0, 1.0], "max": 1.0, "mean": 0.5, "min": 0.0}
        for one in wanted:
            score = float(len(one.source))
            self.known[self._key(one)] = CandidateResult(
                0,
                True,
                trace={"total": row, "episode_length": row},
                rts=score,
                evaluation={"score": score + one.seed % 7},
            )


@pytest.fixture
def options(tmp_path: Path) -> Namespace:
    return Namespace(
        task="Cartpole",
        methods=["icpl", "open_loop:k=6"],
        controls=["aa", "inverted", "blind", "dose"],
        contrasts=[],
        budget=12,
        by="retrained",
        experiments=2,
        iterations=20,
        worlds=32,
        seed=0,
        data=tmp_path,
    )


def run_all(options: Namespace) -> dict[tuple[str, int], Search]:
    plan = controls.build_plan(options)
    problem = loop.describe_task(Experiment(task=options.task))

    def check(sources):
        return [Verdict(True, "done") for _ in sources]

    searches = [Search(plan, cell, problem, check) for cell in plan.cells()]
    run_searches(searches, MadeUp(options.data, options.task))
    return {(one.cell.arm.label, one.cell.index): one for one in searches}


def test_arms_begin_alike_and_differ_by_their_judges(options):
    found = run_all(options)
    assert {label for label, _ in found} == {
        *("ICPL", "OpenLoop", "ICPL, repeated", "ICPL (judge.mistake=1)"),
        *("ICPL (judge.beta=0)", "OpenLoop (judge.beta=0)", "ICPL (judge.beta=3)"),
    }

    def written(label, number):
        return [one.candidate.source for key, one in found[label, 0].outcomes.items() if key.startswith(f"{number}-")]

    assert written("ICPL", 1) == written("OpenLoop", 1) == written("ICPL (judge.mistake=1)", 1)
    assert written("ICPL", 1) != written("ICPL, repeated", 1) and written("ICPL", 2) != written("OpenLoop", 2)
    assert written("OpenLoop", 2) == written("OpenLoop (judge.beta=0)", 2)
    for index in (0, 1):
        right, inverted = found["ICPL", index], found["ICPL (judge.mistake=1)", index]
        assert right.winner.rts == max(one.rts for one in right.outcomes.values())
        first = [one.rts for key, one in inverted.outcomes.items() if key.startswith("1-")]
        assert inverted.winner.rts <= min(first), "the worst of each round, then the worst of these"
    again = run_all(options)
    assert {key: one.winner for key, one in again.items()} == {key: one.winner for key, one in found.items()}


def test_a_training_is_done_again_where_the_preset_has_changed(tmp_path, monkeypatch):
    trainings, one = MadeUp(tmp_path, "Cartpole"), Training("source", 0)
    trainings.train([one])
    assert trainings.find(one)
    presets = catalog.get_task("Cartpole").presets
    monkeypatch.setitem(presets, "quick", replace(presets["quick"], gamma=0.5))
    with pytest.raises(KeyError):
        trainings.find(one)


def test_a_file_of_experiments_is_counted_without_training(options, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.batch.Trainings", MadeUp)
    plan = controls.build_plan(options)
    rows = list(controls.run(plan, options))
    file = tmp_path / "controls.csv"
    controls.save_rows(rows, options, file)
    read = controls.read_rows(file, options)
    for by in controls.COUNTED:
        assert list(controls.describe(plan, read, by)) == list(controls.describe(plan, rows, by))
    said = "\n".join(controls.describe(plan, read, "retrained"))
    assert "### 2. ICPL scores higher than ICPL (judge.mistake=1)" in said and "A/A differences, 2 pairs" in said
    assert "this plan can show no difference, however large" in said, "two pairs"
    options.iterations = 21
    with pytest.raises(ValueError, match="not Cartpole, quick, 21 iterations"):
        controls.read_rows(file, options)


def read_limits(parts: list[str]) -> tuple[float, float]:
    """The noise floor of the contrasts, and what the plan can see."""
    (floor,) = {float(part.splitlines()[-1].split("|")[7]) for part in parts if part.startswith("| difference")}
    (seen,) = (re.search(r": (\S+) \(.*in eight of ten", part) for part in parts if part.startswith("With "))
    assert seen
    return floor, float(seen[1])


def test_the_documented_figures_are_those_of_the_documented_file(options):
    options.budget, options.experiments, options.iterations, options.worlds = 18, 10, 25, 16
    rows = controls.read_rows(ROOT / "docs" / "comparisons" / "controls-cartpole.csv", options)
    arms = [line.split(" | ", 1)[1] for line in controls.render_arms(rows).splitlines()[2:]]
    assert len(arms) == 9 and all(cells in PAGE for cells in arms if "- |" not in cells)
    limits, tested = {}, []
    for by in controls.COUNTED:
        options.by = by
        parts = list(controls.describe(controls.build_plan(options), rows, by))
        limits[by] = read_limits(parts)
        claims = [part.splitlines() for part in parts]
        claims = [lines[-1].split("|")[1:6] for lines in claims if lines[0].startswith("| difference")]
        assert len(claims) == 5
        tested += [(float(p), float(corrected)) for _, _, _, p, corrected in claims]
        for difference, interval, _, _, p in claims:
            low, _, high = interval.split()
            said = f"{float(difference):.0f} ({float(low):.0f} to {float(high):.0f}), {float(p):.3f}"
            assert said in PAGE, f"{by}: {said}"
    together = holm([p for p, _ in tested])
    lost = [p for p, (_, alone) in zip(together, tested, strict=True) if alone <= 0.05 < p]
    assert [f"{p:.3f}" for p in lost] == ["0.062"] and "is not shown any more (p 0.062)" in WORDS
    (score, least), (ts, _), (last, least_last) = (limits[by] for by in controls.COUNTED)
    assert f"A/A pairs: {score:.0f} for the score, {ts:.0f} for the TS, {last:.0f} for the last round" in WORDS
    assert f"only differences of {least:.0f} steps of score, and of {least_last:.0f} of the last round" in WORDS


@pytest.mark.parametrize(("name", "experiments", "seed"), [("traces", 10, 0), ("traces-again", 30, 100)])
def test_the_documented_figures_of_traces_are_those_of_their_files(options, name, experiments, seed):
    options.methods, options.controls, options.by = ["icpl", "icpl_wo_rt", "icpl_wo_rtd"], ["aa"], "last_round"
    options.budget, options.iterations, options.worlds = 30, 12, 16
    options.experiments, options.seed = experiments, seed
    rows = controls.read_rows(ROOT / "docs" / "comparisons" / f"controls-cartpole-{name}.csv", options)
    for row in controls.render_arms(rows).splitlines()[2:]:
        _, arm, *_, last, _ = row.split("|")
        line = next(line for line in PAGE.splitlines() if line.startswith(f"|{arm}") and line.count("|") == 4)
        assert line.split("|")[2 if name == "traces" else 3] == last
    parts = list(controls.describe(controls.build_plan(options), rows, options.by))
    floor, least = read_limits(parts)
    assert re.search(rf"A/A pairs: {floor:.0f} and|A/A pairs: \d+ and {floor:.0f} steps", WORDS)
    assert name == "traces" or f"Differences of {least:.0f} steps would be seen" in WORDS
    claims = [lines[-1].split("|")[1:6] for part in parts if (lines := part.splitlines())[0].startswith("| difference")]
    assert len(claims) == 2
    for difference, interval, _, _, p in claims:
        low, _, high = interval.split()
        assert f"{float(difference):.1f} ({float(low):.1f} to {float(high):.1f}), {float(p):.3f}" in PAGE
