"""The results of a study: what its arms differ in, how its rounds went, and who was left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from webapp.archive.study_results import Result, RoundScore, read_results
from webapp.base.statistics.group_tests import Comparison, Group, Mean, compare_groups, summarize_mean
from webapp.base.statistics.proportions import Interval, format_p
from webapp.experiments.figures import shorten_metric
from webapp.studies.models import Arm, Study
from webapp.studies.questionnaires.scored import Measured, Rating, ScoredQuestionnaire, list_ratings, list_scored

PEOPLE, PANELS = "participant", "panel"


@dataclass(frozen=True)
class Measure:
    """A number that every experiment has, compared between arms."""

    slug: str
    title: str
    label: str
    """What the axis says, with the unit."""
    read: Callable[[Result], float | None]
    covers: tuple[float, ...] = ()


PREFERRED = Measure(
    "preferred",
    "Preferred in votes on pairs",
    "share of votes",
    lambda result: result.preferred_share,
    (0, 1),
)
DRAWN = Measure(
    "undecided",
    "Could not judge",
    "share of choices",
    lambda result: result.drawn_share,
    (0, 1),
)
CHOOSING = Measure(
    "choosing", "Seconds to a choice", "seconds to a choice", lambda result: result.seconds_choosing, (0,)
)


@dataclass(frozen=True)
class Outcome:
    """One measure in all arms."""

    measure: Measure
    groups: Mapping[str, Group]
    """By arm: the value of each participant or panel; their mean, if they judged the arm more than once."""
    comparisons: tuple[Comparison, ...]
    unit: str
    """Who a value belongs to: participant or panel."""

    @property
    def means(self) -> dict[str, Mean]:
        return {arm: summarize_mean(list(values.values())) for arm, values in self.groups.items() if values}

    @property
    def explained(self) -> bool:
        """Whether the page says its comparisons in sentences; those of all measures are in a table."""
        return self.measure not in (DRAWN, CHOOSING)

    @property
    def sentences(self) -> list[str]:
        return [describe_comparison(one, len(self.comparisons)) for one in self.comparisons]

    @property
    def notes(self) -> list[str]:
        return explain_tests(self.comparisons, self.unit)


@dataclass(frozen=True)
class RoundCurve:
    """A number that every round has, in all arms."""

    slug: str
    title: str
    label: str
    """What the axis says, with the unit."""
    means: Mapping[str, Mapping[int, Mean]]
    """By arm and round."""
    measure: str = ""
    """The slug of the measure beside which it stands; empty if there is none."""
    covers: tuple[float, ...] = ()


@dataclass(frozen=True)
class StudyResults:
    results: tuple[Result, ...]
    """Every experiment, also those that do not count."""
    arms: tuple[Arm, ...]
    outcomes: tuple[Outcome, ...]
    curves: tuple[RoundCurve, ...]

    @property
    def counted(self) -> list[Result]:
        return [result for result in self.results if not result.left_out]


def read_study_results(study: Study) -> StudyResults:
    found = read_results(study)
    arms = list(study.arms.all())
    counted = [result for result in found if not result.left_out]
    scored = _find_score_measures(arms)
    same = (PREFERRED, *map(make_score_measure, list_scored(study)), DRAWN, CHOOSING)
    measures = [*scored, *((measure, arms) for measure in same)]
    outcomes = [_compare(measure, counted, members) for measure, members in measures]
    return StudyResults(
        results=tuple(found),
        arms=tuple(arms),
        outcomes=tuple(one for one in outcomes if _says_something(one)),
        curves=tuple(
            one
            for one in (
                *(_build_score_curve(measure, counted, arms) for measure, _ in scored if len(scored) == 1),
                *_build_asked_curves(study, counted, arms),
            )
            if one.means
        ),
    )


def make_score_measure(one: ScoredQuestionnaire) -> Measure:
    """The score of a questionnaire. Where it is asked several times, the mean counts."""
    low, high = one.range
    slug = one.column.replace("_", "-")
    return Measure(
        slug, one.name, f"score, {low:g} to {high:g}", lambda result: result.scores.get(one.column), (low, high)
    )


def _find_score_measures(arms: Sequence[Arm]) -> list[tuple[Measure, list[Arm]]]:
    """The final score with the arms that it compares: scores of different tasks are different measures."""
    tasks: dict[str, list[Arm]] = {}
    for arm in arms:
        if arm.task_info.metric is not None:
            tasks.setdefault(arm.task, []).append(arm)
    found = []
    for number, members in enumerate(tasks.values(), 1):
        arm = members[0]
        slug, of_task = ("score", "") if len(tasks) == 1 else (f"score-{number}", f", {arm.task_title}")
        label = shorten_metric(arm.task_info.metric or "")
        measure = Measure(slug, f"Final score of the winner{of_task}", label, lambda result: result.score)
        found.append((measure, members))
    return found


def _compare(measure: Measure, counted: Sequence[Result], arms: Sequence[Arm]) -> Outcome:
    groups = {arm.name: group_values([r for r in counted if r.arm == arm], measure.read) for arm in arms}
    panels = any(len(result.people) > 1 for result in counted)
    return Outcome(measure, groups, tuple(compare_groups(groups)), PANELS if panels else PEOPLE)


def _says_something(outcome: Outcome) -> bool:
    values = [value for group in outcome.groups.values() for value in group.values()]
    return bool(values) and (outcome.measure is not DRAWN or any(values))


def group_values(results: Sequence[Result], read: Callable[[Result], float | None]) -> dict[str, float]:
    """The mean of each unit's values: what one person did twice is not two observations."""
    values: dict[str, list[float]] = {}
    for result in results:
        if (value := read(result)) is not None:
            values.setdefault(result.unit, []).append(value)
    return {unit: fmean(own) for unit, own in values.items()}


def _build_score_curve(measure: Measure, counted: Sequence[Result], arms: Sequence[Arm]) -> RoundCurve:
    means = _summarize_rounds(counted, arms, lambda one: one.score)
    return RoundCurve("arms-rounds", "Final score of the pick of each round", measure.label, means, measure.slug)


def _build_asked_curves(study: Study, counted: Sequence[Result], arms: Sequence[Arm]) -> list[RoundCurve]:
    """What people answered after several rounds: scores of questionnaires, else each scale."""
    asked: list[Measured] = [*list_scored(study), *list_ratings(study)]
    curves = []
    for one in asked:
        means = _summarize_rounds(counted, arms, partial(_read_answer, one.column))
        if len({number for rounds in means.values() for number in rounds}) > 1:
            slug, (low, high) = one.column.replace("_", "-"), one.range
            label = one.codes if isinstance(one, Rating) else f"score, {low:g} to {high:g}"
            measure = "" if isinstance(one, Rating) else slug
            curves.append(
                RoundCurve(f"rounds-{slug}", f"{one.name} after each round", label, means, measure, one.range)
            )
    return curves


def _read_answer(column: str, one: RoundScore) -> float | None:
    return one.scores.get(column)


def _summarize_rounds(
    counted: Sequence[Result], arms: Sequence[Arm], read: Callable[[RoundScore], float | None]
) -> dict[str, dict[int, Mean]]:
    found: dict[str, dict[int, Mean]] = {}
    for arm in arms:
        mine = [result for result in counted if result.arm == arm]
        for number in sorted({one.number for result in mine for one in result.rounds}):
            values = group_values(mine, lambda result, at=number: _read_round(result, at, read))  # type: ignore[misc]
            if values:
                found.setdefault(arm.name, {})[number] = summarize_mean(list(values.values()))
    return found


def _read_round(result: Result, number: int, read: Callable[[RoundScore], float | None]) -> float | None:
    return next((read(one) for one in result.rounds if one.number == number), None)


# --- in words -------------------------------------------------------------------------------------------------


def format_number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def format_interval(interval: Interval | None) -> str:
    if interval is None:
        return "no interval"
    return f"{format_number(interval.low)} to {format_number(interval.high)}"


def describe_counts(one: Comparison) -> str:
    return f"{one.counts[0]} pairs" if one.design == "paired" else f"{one.counts[0]} and {one.counts[1]}"


def describe_comparison(one: Comparison, pairs: int) -> str:
    """A comparison in a sentence."""
    text = f"{one.second} minus {one.first}: {format_number(one.difference)}"
    if one.p is None or one.interval is None:
        return f"{text}. No test: {_find_obstacle(one)}."
    parts = [f"{text} (95% interval {format_interval(one.interval)}), n = {describe_counts(one)}"]
    if one.effect is not None:
        parts.append(f"Hedges' g {one.effect:.2f} ({format_interval(one.effect_interval)})")
    parts.append(f"{one.test}: p {format_equal(one.p)}")
    if pairs > 1 and one.adjusted is not None:
        parts.append(f"Holm-corrected: p {format_equal(one.adjusted)}")
    if one.rank_p is not None:
        parts.append(f"{one.rank_test}: p {format_equal(one.rank_p)}")
    return f"{'; '.join(parts)}."


def _find_obstacle(one: Comparison) -> str:
    fewest = min(one.counts)
    return f"an arm has {fewest} value, and a test needs two" if fewest < 2 else "the values do not vary"


def format_equal(p: float) -> str:
    words = format_p(p)
    return words if words.startswith("<") else f"= {words}"


def explain_tests(comparisons: Sequence[Comparison], unit: str) -> list[str]:
    """Which test was made and why, and how far it can be trusted."""
    notes = []
    paired = [one for one in comparisons if one.design == "paired"]
    apart = [one for one in comparisons if one.design == "independent" and one.p is not None]
    if paired:
        left_out = max(one.left_out for one in paired)
        notes.append(
            f"Each {unit} judged both arms, so differences are taken within each {unit} (paired t test)."
            + (
                f" Up to {left_out} with a result in only one of the two arms are left out of the test."
                if left_out
                else ""
            )
        )
    if apart:
        notes.append(
            f"The arms were judged by different {unit}s; Welch's t test does not assume that they spread equally."
        )
        if shared := max(one.shared for one in apart):
            notes.append(f"{shared} of them judged both arms, which this test ignores.")
    if len(comparisons) > 1:
        notes.append(f"Holm's correction covers these {len(comparisons)} pairs of arms; intervals are not corrected.")
    if any(one.small for one in comparisons):
        least = min(min(one.counts) for one in comparisons)
        notes.append(
            f"Few {unit}s: {least} in the smallest arm. Intervals are wide, only a large difference can be found, and "
            "the t test assumes values that spread like a normal distribution; the exact test does not."
        )
    return notes


# --- figures --------------------------------------------------------------------------------------------------
