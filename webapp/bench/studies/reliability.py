"""How reliable the answers of a study are: agreement, position bias, consistency, speed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from webapp.archive.study_answers import measure_seconds
from webapp.base.paper_table import Table
from webapp.base.statistics import answer_quality
from webapp.base.statistics.answer_quality import Agreement, Bias, Times
from webapp.experiments.models import Candidate, Iteration
from webapp.review import quality
from webapp.review.models import PairScreening, Vote
from webapp.review.quality import Quality
from webapp.studies.models import Arm, Participant, Study

TOO_FEW = "too few"


@dataclass(frozen=True)
class PairAnswers:
    """What people answered about pairs of segments; gold pairs are counted in `quality`."""

    count: int
    equal: int
    skipped: int
    sides: Bias | None
    """A or B, of those with a preference."""
    agreement: Agreement | None
    """Among several people who answered one pair: first better, equal, second better, ordinal."""
    times: Times | None


@dataclass(frozen=True)
class Answers:
    votes: int
    undecided: int
    """Votes of people who could not judge; their picks were drawn at random and are left out of every figure."""
    best_places: Bias | None
    worst_places: Bias | None
    agreement: Agreement | None
    """Among the members of panels: best, neither or worst, ordinal, over all videos that two or more judged."""
    times: Times | None
    by_round: dict[int, list[float]]
    """Seconds to the answer, by round."""
    pairs: PairAnswers | None
    """None where nobody was asked about pairs."""
    quality: dict[Participant, Quality]
    scores: dict[Arm, dict[str, list[float | None]]]
    """By arm: RTS of the pick of every round, one line per experiment; without arms that have no metric."""

    @property
    def given(self) -> bool:
        """Whether anybody has chosen, or answered about a pair."""
        return bool(self.votes or self.pairs)


def read_answers(study: Study) -> Answers:
    people = study.participants.exclude_pilots()
    standing = Vote.objects.filter(screening__participant__in=people, undone_at=None)
    votes = list(standing.select_related("screening", "request").order_by("pk"))
    decided = [vote for vote in votes if not vote.cannot_tell]
    rounds: dict[int, list[float]] = defaultdict(list)
    for vote in decided:
        number = vote.request.payload.get("iteration")
        if number is not None:
            rounds[number].append(measure_seconds(vote))
    return Answers(
        votes=len(votes),
        undecided=len(votes) - len(decided),
        best_places=answer_quality.measure_position_bias(_list_places(decided, "best_id")),
        worst_places=answer_quality.measure_position_bias(_list_places(decided, "worst_id")),
        agreement=answer_quality.measure_agreement(list_ratings(decided), "ordinal"),
        times=answer_quality.summarize_times([measure_seconds(vote) for vote in decided]),
        by_round=dict(sorted(rounds.items())),
        pairs=_read_pairs([row for row in quality.find_standing_pairs(study) if row.pair_id is not None]),
        quality=quality.assess_study(study),
        scores={arm: lines for arm in study.arms.all() if (lines := _read_scores(arm))},
    )


def _read_pairs(rows: list[PairScreening]) -> PairAnswers | None:
    if not rows:
        return None
    sides = [("A", "B").index(row.pressed) for row in rows if row.pressed in ("A", "B")]
    return PairAnswers(
        count=len(rows),
        equal=sum(row.answer == "equal" for row in rows),
        skipped=sum(row.answer == "skip" for row in rows),
        sides=answer_quality.measure_position_bias([(side, 2) for side in sides]),
        agreement=answer_quality.measure_agreement(list_pair_ratings(rows), "ordinal"),
        times=answer_quality.summarize_times([row.seconds for row in rows if row.seconds is not None]),
    )


def list_pair_ratings(rows: Iterable[PairScreening]) -> list[dict[Hashable, float]]:
    """Per person: pair -> 1 first better, 0 equal, -1 second better."""
    raters: dict[int, dict[Hashable, float]] = defaultdict(dict)
    for row in rows:
        if row.answer in (values := {"first": 1.0, "equal": 0.0, "second": -1.0}):
            raters[row.participant_id][row.pair_id] = values[row.answer]
    return list(raters.values())


def _list_places(votes: list[Vote], field: str) -> list[tuple[int, int]]:
    """(place from 0, places shown) of what was picked as `field`."""
    picked = [(vote.screening.order, getattr(vote, field)) for vote in votes]
    return [(order.index(candidate), len(order)) for order, candidate in picked if candidate in order]


def list_ratings(votes: list[Vote]) -> list[dict[Hashable, float]]:
    """Per person: (request, candidate) -> 1 best, -1 worst, 0 neither."""
    raters: dict[int, dict[Hashable, float]] = defaultdict(dict)
    for vote in votes:
        for candidate in vote.screening.order:
            value = (candidate == vote.best_id) - (candidate == vote.worst_id)
            raters[vote.screening.participant_id][vote.request_id, candidate] = value
    return list(raters.values())


def _read_scores(arm: Arm) -> dict[str, list[float | None]]:
    """RTS of each round's pick, by the labels of the people who judged."""
    if arm.task_info.metric is None:
        return {}
    people: dict[int, list[str]] = defaultdict(list)
    judged = arm.assignments.filter(participant__in=arm.study.participants.exclude_pilots()).exclude(experiment=None)
    for place in judged.select_related("participant").order_by("pk"):
        again = f", {place.position}" if place.position > 1 else ""  # a person may have an arm twice
        people[place.experiment_id or 0].append(f"{place.participant.label}{again}")
    picked = Candidate.objects.filter(iteration__experiment__in=people, pk__in=_list_picks(people))
    lines: dict[str, list[float | None]] = defaultdict(list)
    for candidate in picked.select_related("iteration").order_by("iteration__number"):
        lines[", ".join(people[candidate.iteration.experiment_id])].append(candidate.rts)
    return dict(lines)


def _list_picks(experiments: dict[int, list[str]]) -> list[int]:
    judged = Iteration.objects.filter(experiment__in=experiments).exclude(best=None)
    return [pk for pk in judged.values_list("best_id", flat=True) if pk]


def build_quality_table(study: Study, found: dict[Participant, Quality]) -> Table:
    rows = tuple(
        (
            person.label,
            one.votes,
            one.pairs,
            _format_share(one.attention),
            _format_share(one.gold),
            _format_share(one.gold_pairs),
            one.consistency,
            one.chance,
            one.hasty,
            one.unwatched,
            "; ".join(one.flags) or None,
        )
        for person, one in found.items()
    )
    columns = (
        *("participant", "votes", "pairs", "attention passed", "gold right", "gold pairs right", "consistency"),
        "by chance",
        *("hasty", "not watched", "flags"),
    )
    return Table("quality", f"Checks of {study}", columns, rows, "Flagged, never dropped.")


def _format_share(passed: tuple[bool, ...]) -> str | None:
    return f"{sum(passed)} of {len(passed)}" if passed else None


def build_summary_table(study: Study, found: Answers) -> Table:
    """The figures about the answers as a whole."""
    rows: list[tuple[str, str | int | float | None, str | None]] = [
        ("votes", found.votes, None),
        ("could not judge", found.undecided, None),
    ]
    if found.pairs and not found.votes:
        rows.clear()  # nobody was asked for a choice
    if found.times:
        rows.append(("seconds to the answer, median", found.times.median, _format_quarters(found.times)))
    for name, bias in (("best", found.best_places), ("worst", found.worst_places)):
        if bias:
            rows.append(
                (
                    f"place of the {name}: p, if all places are equal",
                    TOO_FEW if bias.p is None else bias.p,
                    _format_counts(bias),
                )
            )
    if found.agreement:
        one = found.agreement
        interval = f"95% interval {one.low:.2f} to {one.high:.2f}; {one.raters} raters, {one.units} videos"
        rows.append(("Krippendorff's alpha (ordinal)", one.alpha, interval))
    rows += _list_pair_rows(found.pairs) if found.pairs else []
    return Table("answers", f"Answers of {study}", ("what", "value", "in detail"), tuple(rows))


def _list_pair_rows(found: PairAnswers) -> list[tuple[str, str | int | float | None, str | None]]:
    rows: list[tuple[str, str | int | float | None, str | None]] = [
        ("answers to pairs", found.count, f"{found.equal} equal, {found.skipped} skipped")
    ]
    if found.times:
        rows.append(("seconds to the answer of a pair, median", found.times.median, _format_quarters(found.times)))
    if found.sides:
        p = TOO_FEW if found.sides.p is None else found.sides.p
        rows.append(("side of the better one: p, if both sides are equal", p, _format_counts(found.sides)))
    if one := found.agreement:
        interval = f"95% interval {one.low:.2f} to {one.high:.2f}; {one.raters} raters, {one.units} pairs"
        rows.append(("pairs: Krippendorff's alpha (ordinal)", one.alpha, interval))
    return rows


def _format_quarters(times: Times) -> str:
    quarters = times.quarters
    return f"quartiles {quarters[0]:.1f} and {quarters[1]:.1f} s" if quarters else "too few for quartiles"


def _format_counts(bias: Bias) -> str:
    return ", ".join(f"{chr(ord('A') + place)} {count}" for place, count in enumerate(bias.counts))
