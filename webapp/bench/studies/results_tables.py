"""The results of a study as tables: for its page, as CSV and as LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from webapp.archive.study_results import NO_CHOICE, OUTCOMES_LEFT_OUT, Result
from webapp.base.paper_table import Cell, Table
from webapp.base.statistics.answer_quality import measure_agreement, summarize_times
from webapp.base.statistics.proportions import clopper_pearson
from webapp.bench.studies.reliability import list_pair_ratings, list_ratings
from webapp.bench.studies.results import StudyResults, describe_counts, format_interval
from webapp.review.models import PairScreening, Vote
from webapp.review.quality import Quality, find_standing_pairs
from webapp.studies.models import Arm, Outcome, Participant, Study

ERASED, NOT_BEGUN, UNDER_WAY, COUNTED = "erased", "not begun", "still taking part", "counted"
FLOW = {
    NOT_BEGUN: "has not opened the link, or not agreed yet",
    **{reason: f"left out: {reason}" for reason in OUTCOMES_LEFT_OUT.values()},
    ERASED: "left out: data erased",
    NO_CHOICE: "left out: could not judge in any round",
    UNDER_WAY: "still taking part: no finished experiment yet",
    COUNTED: "counted in the results",
}
"""Where a person ends, in the order of the table."""
HEADINGS = {
    "arms": "Means by arm",
    "comparisons": "Differences between arms",
    "flow": "Who is counted",
    "time": "Time",
    "agreement": "Agreement",
}
"""What the page calls each table, by slug."""


def build_tables(study: Study, found: StudyResults, answers: dict[Participant, Quality]) -> dict[str, Table]:
    """Every table that has rows, by its slug."""
    tables = [
        build_means_table(study, found),
        build_comparisons_table(study, found),
        build_flow_table(study, found),
        build_time_table(study, found),
        build_agreement_table(study, found, answers),
    ]
    return {table.slug: table for table in tables if table.rows}


def build_means_table(study: Study, found: StudyResults) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for outcome in found.outcomes:
        for arm, one in outcome.means.items():
            low, high = (one.interval.low, one.interval.high) if one.interval else (None, None)
            rows.append((outcome.measure.title, arm, one.count, one.mean, one.deviation, low, high))
    columns = ("measure", "arm", "n", "mean", "deviation", "low", "high")
    note = "Deviation: sample standard deviation. Low and high: 95% interval of the mean (Student's t)."
    return Table("arms", f"Arms of {study}", columns, tuple(rows), note)


def build_comparisons_table(study: Study, found: StudyResults) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for outcome in found.outcomes:
        for one in outcome.comparisons:
            low, high = (one.interval.low, one.interval.high) if one.interval else (None, None)
            g_low, g_high = (one.effect_interval.low, one.effect_interval.high) if one.effect_interval else (None, None)
            rows.append(
                (
                    *(outcome.measure.title, f"{one.second} \u2212 {one.first}", one.difference, low, high),
                    *(one.effect, g_low, g_high, one.test, one.p, one.adjusted, one.rank_p, describe_counts(one)),
                )
            )
    columns = (
        *("measure", "arms", "difference", "low", "high", "g", "g low", "g high"),
        *("test", "p", "p (Holm)", "p (exact)", "n"),
    )
    note = "Differences of means with 95% intervals; g: Hedges' g. Exact: Mann-Whitney, or sign flips where paired."
    return Table("comparisons", f"Differences between the arms of {study}", columns, tuple(rows), note)


def build_flow_table(study: Study, found: StudyResults) -> Table:
    """Each person once in a column; in those of the arms, once in each of their arms."""
    people = list(study.participants.exclude_pilots().prefetch_related("assignments"))
    of_arm = {arm: [p for p in people if any(a.arm_id == arm.pk for a in p.assignments.all())] for arm in found.arms}

    def count(members: Sequence[Participant], arm: Arm | None) -> dict[str, int]:
        results = [result for result in found.results if arm is None or result.arm == arm]
        ends = [_find_end(person, [r for r in results if person in r.people]) for person in members]
        return {kind: ends.count(kind) for kind in FLOW}

    columns = [count(people, None), *(count(members, arm) for arm, members in of_arm.items())]
    rows: list[tuple[Cell, ...]] = [("people", len(people), *map(len, of_arm.values()))] if people else []
    rows += [(words, *(one[kind] for one in columns)) for kind, words in FLOW.items() if columns[0][kind]]
    if pilots := study.participants.pilots().count():
        rows.append(("pilots, in none of these numbers", pilots, *(None for _ in found.arms)))
    note = "A person who judged several arms is in the column of each."
    return Table(
        "flow", f"People of {study}", ("where they ended", "all", *(a.name for a in found.arms)), tuple(rows), note
    )


def _find_end(person: Participant, results: Sequence[Result]) -> str:
    if person.deleted_at:
        return ERASED
    if person.outcome and (reason := OUTCOMES_LEFT_OUT.get(Outcome(person.outcome))):
        return reason
    if person.consented_at is None:
        return NOT_BEGUN
    if any(not result.left_out for result in results):
        return COUNTED
    return NO_CHOICE if any(result.left_out == NO_CHOICE for result in results) else UNDER_WAY


def build_time_table(study: Study, found: StudyResults) -> Table:
    """Medians, because a long break stretches a mean."""
    kinds: dict[str, tuple[Callable[[Result], float | None], float]] = {
        "a choice (s)": (lambda result: result.seconds_choosing, 1),
        "waiting in an experiment (min)": (lambda result: result.seconds_waiting, 60),
        "an experiment, from start to winner (min)": (lambda result: result.seconds_total, 60),
        "a person's whole part, from consent to the end (min)": (_measure_part, 60),
    }
    rows: list[tuple[Cell, ...]] = []
    for words, (read, scale) in kinds.items():
        for arm in found.arms:
            values = [read(result) for result in found.counted if result.arm == arm]
            one = summarize_times([value / scale for value in values if value is not None])
            if one:
                rows.append((words, arm.name, one.count, one.median, *(one.quarters or (None, None))))
    columns = ("time of", "arm", "n", "median", "lower quartile", "upper quartile")
    return Table("time", f"Times of {study}", columns, tuple(rows), "Quartiles from five values on.")


def _measure_part(result: Result) -> float | None:
    person = result.people[0]
    if person.finished_at is None or person.consented_at is None or len(result.people) > 1:
        return None
    return (person.finished_at - person.consented_at).total_seconds()


CHECKS = {
    "gold sets answered right": "gold",
    "gold pairs answered right": "gold_pairs",
    "attention checks passed": "attention",
}
"""What a row of the agreement table says -> the field of Quality."""


def _select_pairs(answered: Iterable[PairScreening], experiments: set[int] | None) -> list[PairScreening]:
    of = ((row, row.pair.session.request.experiment_id) for row in answered if row.pair)
    return [row for row, experiment in of if experiments is None or experiment in experiments]


def build_agreement_table(study: Study, found: StudyResults, answers: dict[Participant, Quality]) -> Table:
    """Panels, pairs, gold sets, gold pairs, attention checks, repeated rounds: for all and by arm; what was asked."""
    of_people = Vote.objects.filter(screening__participant__in=study.participants.exclude_pilots(), undone_at=None)
    votes = list(of_people.filter(cannot_tell=False).select_related("screening", "request").order_by("pk"))
    answered = find_standing_pairs(study).filter(pair__isnull=False).select_related("pair__session__request")
    groups: list[tuple[str, set[int] | None]] = [("all", None)]
    if len(found.arms) > 1:
        groups += [(arm.name, {r.experiment.pk for r in found.results if r.arm == arm}) for arm in found.arms]
    rows: list[tuple[Cell, ...]] = []
    for name, experiments in groups:
        people = {p for r in found.results if experiments is None or r.experiment.pk in experiments for p in r.people}
        own = [vote for vote in votes if experiments is None or vote.request.experiment_id in experiments]
        if alpha := measure_agreement(list_ratings(own), "ordinal"):
            detail = (
                f"95% interval {alpha.low:.2f} to {alpha.high:.2f}; {alpha.raters} raters, {alpha.units} candidates"
            )
            rows.append(("panels: Krippendorff's alpha (ordinal)", name, alpha.alpha, detail))
        if alpha := measure_agreement(list_pair_ratings(_select_pairs(answered, experiments)), "ordinal"):
            detail = f"95% interval {alpha.low:.2f} to {alpha.high:.2f}; {alpha.raters} raters, {alpha.units} pairs"
            rows.append(("pairs: Krippendorff's alpha (ordinal)", name, alpha.alpha, detail))
        for words, field in CHECKS.items():
            passed = [right for person in people if person in answers for right in getattr(answers[person], field)]
            if passed:
                interval = clopper_pearson(sum(passed), len(passed))
                rows.append(
                    (words, name, sum(passed) / len(passed), _describe_share(passed, format_interval(interval)))
                )
        repeated = [answers[p].consistency for p in people if p in answers and answers[p].consistency is not None]
        if shares := [share for share in repeated if share is not None]:
            chances = [answers[p].chance or 0.0 for p in people if p in answers and answers[p].consistency is not None]
            detail = f"mean of {len(shares)} people; by chance {sum(chances) / len(chances):.2f}"
            rows.append(("repeated picks that were the same again", name, sum(shares) / len(shares), detail))
    return Table("agreement", f"Agreement in {study}", ("what", "arm", "value", "in detail"), tuple(rows))


def _describe_share(passed: Sequence[bool], interval: str) -> str:
    return f"{sum(passed)} of {len(passed)}; 95% interval {interval} (Clopper-Pearson)"
