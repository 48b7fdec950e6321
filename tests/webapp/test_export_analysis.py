"""The notebook and the R script of an export give the numbers of the results page."""

import json
import zipfile

import pytest

from tests.webapp import arms_study, questionnaire_rows
from tests.webapp.analysis import NOTEBOOK, R_SCRIPT, run_analysis, to_number
from webapp.archive import export, result_files
from webapp.archive.study_scope import Options
from webapp.bench.studies import results
from webapp.studies.models import Assignment, Outcome

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

STUDIES = {
    "three arms": (
        {"NA": (310.0, 290.0, 330.0, 300.0), "B": (240.0, 270.5, 255.0), "C, k=3": (200.0, 210.0, 199.0)},
        1,
    ),
    "the same people": ({"A": (300.0, 310.0, 290.0), "B": (280.0, 295.0, 281.0)}, 2),
    "one person": ({"A": (300.0,), "B": (280.0, 280.0)}, 1),
}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "three arms" else pytest.mark.exhaustive) for kind in STUDIES]
)
def test_both_give_the_numbers_of_the_page(kind, tmp_path):
    scores, each = STUDIES[kind]
    study = arms_study.create_study(scores, experiments_each=each)
    asked = questionnaire_rows.scored(study, placement="experiment")
    between = questionnaire_rows.scored(study, placement="rounds")
    rated = questionnaire_rows.rated(study, placement="rounds")
    for number, place in enumerate(Assignment.objects.filter(participant__study=study).exclude(experiment=None)):
        step = 1 + number * 3 % 5
        questionnaire_rows.answer_scored(asked, place.participant, step, experiment=place.experiment)
        for round_ in (1, 2):
            about = {"experiment": place.experiment, "round": round_}
            questionnaire_rows.answer_scored(between, place.participant, 1 + (step + round_) % 5, **about)
            questionnaire_rows.answer_rating(rated, place.participant, 1 + (step * round_) % 5, **about)
    gone = arms_study.add_person(study, "gone", outcome=Outcome.WITHDRAWN)
    arms_study.judge_experiment(gone, study.arms.first(), 1, 999.0)
    export.write_export(study, tmp_path / "study.zip", Options(clips=False))
    with zipfile.ZipFile(tmp_path / "study.zip") as package:
        package.extractall(tmp_path)
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    expected = read_page(study)
    for command in (NOTEBOOK, R_SCRIPT):
        found = run_analysis(command, folder)
        assert any("sus_score" in measure for measure, *_ in found["means"])
        assert {measure.partition(" ")[0] for measure, *_ in found["by_round"]} == {"Final", "System", "What"}
        assert all(found[table].keys() == expected[table].keys() for table in expected)
        for table in expected:
            for key, values in expected[table].items():
                assert found[table][key] == pytest.approx(values, rel=1e-9, abs=1e-9, nan_ok=True), (command[0], key)
    assert (folder / "figure.png").stat().st_size > 5000 and (folder / "Rplots.pdf").stat().st_size > 5000


def read_page(study):
    """What the results page says: (measure, arm or arms) -> numbers."""
    means, compared, by_round = {}, {}, {}
    page = results.read_study_results(study)
    for curve in page.curves:
        for arm, rounds in curve.means.items():
            for number, one in rounds.items():
                by_round[curve.title.partition(",")[0], arm, str(number)] = list_numbers(one)
    for outcome in page.outcomes:
        measure = outcome.measure.title.partition(",")[0]
        for arm, one in outcome.means.items():
            means[measure, arm] = list_numbers(one)
        for one in outcome.comparisons:
            numbers = [one.difference]
            for interval, value in ((one.interval, ()), (one.effect_interval, (one.effect,))):
                tested = one.p is not None and interval is not None
                numbers += [*value, interval.low, interval.high] if tested else [None] * (len(value) + 2)
            numbers += [len(one.test), one.p, one.adjusted]
            compared[measure, one.first, one.second] = list(map(to_number, numbers))
    return {"means": means, "comparisons": compared, "by_round": by_round}


def list_numbers(one):
    low, high = (one.interval.low, one.interval.high) if one.interval else (None, None)
    return list(map(to_number, (one.count, one.mean, one.deviation, low, high)))


def test_the_notebook_is_one():
    book = json.loads((result_files.ANALYSIS / "results.ipynb").read_text())
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert all(cell["id"] and cell["metadata"] == {} for cell in book["cells"])
    assert all(cell["outputs"] == [] for cell in book["cells"] if cell["cell_type"] == "code")
