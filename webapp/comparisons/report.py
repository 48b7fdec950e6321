"""The report of a comparison: Markdown, CSV and figures in one folder, rewritten when an experiment ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev

from llm.methods import get_method as find_method
from llm.methods.retrain import EPISODES
from trainer.machine import describe_machine
from webapp.base.statistics.corrections import holm
from webapp.base.statistics.rank_tests import compare_by_seed, mann_whitney
from webapp.comparisons import (
    alignments,
    csv_tables,
    experiment_results,
    findings,
    plan_record,
    published,
    report_figures,
)
from webapp.comparisons.accuracy import measure_accuracies
from webapp.comparisons.claim_sections import SCORE_TEXT, build_aggregates, build_claims
from webapp.comparisons.cost_tables import build_costs_table, build_printed_costs_table
from webapp.comparisons.experiment_results import Elsewhere, Result, Score
from webapp.comparisons.findings import Evidence, References
from webapp.comparisons.markdown_tables import (
    format_known_mean,
    format_mean,
    format_number,
    format_spread,
    render_table,
)
from webapp.comparisons.plan import REFERENCES, Plan
from webapp.comparisons.report_details import SEPARATOR, UNKNOWN, add_details
from webapp.comparisons.unread import find_unread
from webapp.experiments import provenance
from webapp.experiments.figures import complete_sessions
from webapp.problems.media import get_medium

EXPLANATION = """\
RTS of a candidate: the highest value of the task metric, sampled at fixed intervals of its training.
TS of an experiment: the RTS of the candidate that it ended with, which is the highest of all where a faultless proxy
chooses among all rounds. FTS: the highest TS. Best of any: the highest RTS of any candidate, mean over experiments.
Deviations are those of a sample (n - 1). Queries: pairwise comparisons asked of the judge; best and worst of m are
2m - 3, a choice among m is m - 1. A method that learns from answers about pairs trains one policy, whose queries are
the pairs of segments that were asked. A cost of "?" means that some call has no known price. Training seconds are wall
time: how long the training processes of a round took, summed over the rounds. They say as much of the machine, and of
what else it did meanwhile, as of the method. On a GPU: "-" where some training does not say where it ran. Diversity:
mean distance of all pairs of candidates that were tried together, from 0 to 1, mean over the rounds; of programs by
what they read and apply, of films by what robots do."""
ALL_PROBLEMS_TEXT = """\
Mean TS over all experiments on problems; right: those with a TS of 1, with the 95% Wilson interval of their share. Wins
and losses: experiments in which an arm did better or worse than {first} did on the same problem with the same seed; p:
two-sided exact sign test of these. All experiments are taken as independent: repetitions on few problems say little of
other problems."""
ELSEWHERE_TEXT = """\
These were finished by another installation, or by this one before its data went, and are read from the reports in the
folders named here; they were not run again."""
ENDED_EARLY_TEXT = """\
Their flow was broken off, and the winner was chosen among the rounds that were there: they spent less than the budget
of the others, and count in every table."""
ALIKE_TEXT = """\
All methods reached the same score every time, {}: this task, so trained, does not tell these methods apart. How fast
each got there is in the table of rounds."""
LEARNING_TEXT = """\
Policies that learned their reward from answers about pairs; no language model wrote a program for them. Means over the
experiments that were run here: pairs asked, seen as equal and skipped; pairs of which the experiments' pages show
films; of the last session how often the model was right on held-out answers, which a simulated teacher gives and
nothing learns from, and its figures before it learned from the session's new answers (correlation: of learned and true
sums of its segments; with the metric: of learned sums and the metric's, where it is known of three segments); and what
a step of the policy was worth in the last tenth of its training, by the reward that it learned and by the task's
human-written one."""
NO_REFERENCES: References = {}
COUNTS = ("asked", "equal", "skipped")
LEARNING = {
    "held_out": "right on held-out answers",
    "accuracy_before": "right on new answers",
    "correlation_before": "correlation",
    "metric_correlation": "with the metric",
    "disagreement": "disagreement",
}
"""Figures of a session (webapp.experiments.figures.complete_sessions) -> their heads."""
TESTS_TEXT = """\
Mann-Whitney U, two-sided, exact by permutation: U counts the pairs in which the arm's TS is higher. By seed: each
experiment against the one with the same seed, which began with the same first rewards where the methods begin alike;
the mean difference, how often the arm is higher, and a two-sided permutation test of the signs, uncorrected (with n
seeds its p is at least 2 / 2^n)."""


def write_report(
    plan: Plan,
    folder: Path,
    elsewhere: Elsewhere = experiment_results.NOWHERE,
    fixed_at: datetime | None = None,
) -> Path:
    """Write all files, with the results from elsewhere; returns the Markdown's path. `fixed_at`: since when the plan
    is as it is, where the folder has no record yet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    versions = plan_record.fix(plan, folder, fixed_at or datetime.now(UTC)) if plan.tests_contrasts else []
    results = add_details(experiment_results.read_results(plan, elsewhere))
    scores = experiment_results.group_scores(plan, results)
    references = experiment_results.read_references(plan, elsewhere)
    peaks = experiment_results.read_references(plan, elsewhere, peaks=True)
    aligned = alignments.read_references(plan)
    ids = {one: plan.reference_id(*one) for one in references}
    csv_tables.write_tables(folder, results, scores, references, ids, peaks)
    evidence = findings.collect_evidence(plan, scores, references, find_unread(plan))
    drawn = {task: report_figures.build_charts(task, scores, references, aligned) for task in plan.tasks}
    pictures = {task: report_figures.write_figures(charts, folder) for task, charts in drawn.items()}
    pictures[""] = report_figures.write_figures(report_figures.build_evidence_charts(plan, evidence), folder)
    text = render_markdown(plan, results, scores, pictures, references, evidence, versions, aligned, peaks)
    path = folder / "report.md"
    csv_tables.replace_file(path, text)
    return path


# --- Markdown -------------------------------------------------------------------------------------------------


def render_markdown(
    plan: Plan,
    results: Sequence[Result],
    scores: Sequence[Score],
    pictures: dict[str, list[str]],
    references: References = NO_REFERENCES,
    evidence: Evidence | None = None,
    versions: Sequence[plan_record.Version] = (),
    aligned: alignments.Aligned = alignments.NOBODY,
    peaks: References = NO_REFERENCES,
) -> str:
    """The whole report as one text."""
    media = list(dict.fromkeys(get_medium(task) for task in plan.tasks))
    explained = [medium.explained for medium in media if medium.explained]
    planned = len(plan.tasks) * len(plan.arms) * plan.experiments
    evaluated = any(plan.is_evaluated(cell) for cell in plan.cells())
    finished = [result for result in results if result.finished]
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    parts = [
        f"# {plan.candidates} candidates each: {plan.labels}",
        f"{len(finished)} of {planned} experiments finished, {now}. {_describe_settings(plan)}",
        _describe_makers(finished),
        *([SCORE_TEXT.format(seeds=plan.retrain, episodes=EPISODES)] if evaluated else []),
        EXPLANATION,
        *explained,
        *_build_evidence_sections(plan, evidence, pictures.get("", []), versions, results),
        *_build_accuracy_section(plan, scores),
    ]
    for task in plan.tasks:
        own = [score for score in scores if score.task == task]
        parts += [f"## {task}", _build_scores_table(own, plan, references, peaks), build_costs_table(own)]
        if costs := build_printed_costs_table(own):
            parts.append(costs)
        if learned := _build_learning_table(own):
            parts += [LEARNING_TEXT, learned]
        parts += alignments.build_section(task, alignments.list_rows(task, own, references, aligned), own)
        if not evaluated and (tests := _build_tests(own)):
            parts.append(tests)
        parts += [f"![{name}]({name})" for name in pictures.get(task, [])]
        parts.append(_build_rounds_table(own))
        if printed := _build_published_table(own, plan):
            parts.append(printed)
    if foreign := [r for r in results if r.folder]:
        parts += ["## From elsewhere", ELSEWHERE_TEXT, _build_elsewhere_table(foreign)]
    if early := [r for r in finished if r.ended_early]:
        parts += [
            "## Ended early",
            ENDED_EARLY_TEXT,
            "\n".join(f"- {_name_experiment(r)}: {r.shortfall}" for r in early),
        ]
    if broken := [r for r in results if r.error]:
        lines = "\n".join(f"- {_name_experiment(r)}: {r.error}" for r in broken)
        parts.append(f"## Stopped by a failure\n\n{lines}")
    return "\n\n".join([*parts, *(medium.caveat for medium in media if medium.caveat)]) + "\n"


def _build_evidence_sections(
    plan: Plan,
    evidence: Evidence | None,
    pictures: Sequence[str],
    versions: Sequence[plan_record.Version],
    results: Sequence[Result],
) -> list[str]:
    """Claims and aggregates, of a comparison that tests contrasts."""
    if evidence is None or not plan.tests_contrasts:
        return []
    said = plan_record.describe_versions(versions, results)
    claims = build_claims(evidence, pictures) if evidence.findings else []
    return [*claims[:1], *said, *claims[1:], *build_aggregates(evidence, pictures)]


def _name_experiment(result: Result) -> str:
    return f"{result.arm.label} on {result.task}, {result.index + 1}"


def _describe_makers(finished: Sequence[Result]) -> str:
    """The versions and machines that tried the candidates, and the one that writes the report."""
    tried = (_list_once(r.machine for r in finished), _list_once(r.version for r in finished))
    own = ([describe_machine()], [provenance.read_version()])
    if tried == own:
        return f"Tried and reported on {_describe_maker(*own)}."
    return f"{f'Tried on {_describe_maker(*tried)}. ' if finished else ''}Reported on {_describe_maker(*own)}."


def _list_once(names: Iterable[str]) -> list[str]:
    """Every name once; an experiment that moved to another machine has several (report_details)."""
    return list(dict.fromkeys(name for joined in names for name in (joined or UNKNOWN).split(SEPARATOR)))


def _describe_maker(machines: Sequence[str], versions: Sequence[str]) -> str:
    called = SEPARATOR.join("an unknown machine" if name == UNKNOWN else name for name in machines)
    return f"{called} by Prefine {SEPARATOR.join('unknown' if name == UNKNOWN else name for name in versions)}"


def _build_accuracy_section(plan: Plan, scores: Sequence[Score]) -> list[str]:
    """The section on accuracy over all problems, where there are several."""
    found = measure_accuracies(plan, scores)
    if not found:
        return []
    rows = []
    for one in found:
        low, high = (one.interval.low, one.interval.high) if one.interval else (None, None)
        share = f"{one.right}/{len(one.scores)} ({format_number(low)} to {format_number(high)})"
        better = one.better
        tested = (
            [f"{better.wins}, {better.losses}", f"{better.p:.4f}", f"{better.corrected:.4f}"] if better else [""] * 3
        )
        rows.append([one.arm.label, format_number(one.mean), share, *tested])
    head = ["all problems", "mean TS", "right", "wins, losses", "p", "p (Holm)"]
    return ["## All problems", ALL_PROBLEMS_TEXT.format(first=plan.baseline.label), render_table(head, rows)]


def _describe_settings(plan: Plan) -> str:
    judge = plan.judge + (f" with {dict(plan.judge_options)}" if plan.judge_options else "")
    changed = f" with {dict(plan.overrides)}" if plan.overrides else ""
    writer = str(plan.model) if plan.model else "the offline writer (rules, not a language model)"
    written = f" Written by {writer}." if any(find_method(arm.method).writes for arm in plan.arms) else ""
    learning = ", ".join(arm.label for arm in plan.arms if find_method(arm.method).asks_pairs)
    if learning:
        written += f" No language model writes for {learning}."
    roles = {"Described": plan.describer, "Judged": plan.judge_model, "Looked at": plan.vision}
    others = "".join(f" {done} by {model}." for done, model in roles.items() if model)
    sets = dict.fromkeys(arm.prompt_set for arm in plan.arms if arm.prompt_set)
    words = "".join(f" Prompts {one}: hash {one.digest}." for one in sets)
    robots = any(get_medium(task).filmed for task in plan.tasks)
    arms: dict[str, dict[str, None]] = {}
    for cell in plan.cells():
        arms.setdefault(plan.find_preset(cell), {})[cell.arm.label] = None
    besides = "".join(f"; {', '.join(labels)}: {name}" for name, labels in arms.items() if name != plan.preset)
    preset = f" Training preset: {plan.preset}{besides}{changed and f'; all{changed}'}." if robots else ""
    return f"Judge: {judge}.{preset}{written}{others}{words} Seeds from {plan.seed}."


def _build_scores_table(scores: Sequence[Score], plan: Plan, references: References, peaks: References) -> str:
    """A line for each arm, then the references: as they were trained here, or as the papers print them."""
    rows, evaluated = [], bool(plan.retrain) and bool(scores) and get_medium(scores[0].task).filmed
    for score in scores:
        printed = published.find_beside(score, plan)
        shape = f"{score.arm.budget} in all" if score.arm.budget else f"{score.arm.k} x {score.arm.n}"
        values = ", ".join(format_number(v) for v in score.values)
        tops = [r.best for r in score.results if r.best is not None]
        top = format_number(sum(tops) / len(tops)) if tops else "-"
        numbers = [format_number(score.fts), format_spread(score.mean, score.deviation), top]
        count = f"{len(score.values)}/{plan.experiments}"
        if score.ended_early:
            count += f" ({score.ended_early} ended early)"
        own = list(score.scores.values())
        held = _format_scores(own, score.task, references, score.peaks) if evaluated else []
        rows.append([score.arm.label, shape, count, *held, *numbers, values, _format_published(printed)])
    for name in REFERENCES if scores else ():
        task = scores[0].task
        printed = [row for row in published.find_references(task) if row.method == name]
        own, best = (list(held.get((task, name), ())) for held in (references, peaks))
        held = _format_scores(own, task, references, best) if evaluated else []
        if evaluated or printed:
            count = f"{len(own)}/{plan.retrain}" if evaluated else ""
            rows.append([name, "", count, *held, *[""] * 4, _format_published(printed)])
    middle = ["score", "normalised", "each score", "best moment"] if evaluated else []
    head = ["method", "candidates", "n", *middle, "FTS", "mean TS", "best of any", "each TS", "published"]
    return render_table(head, rows)


def _format_scores(values: Sequence[float], task: str, references: References, peaks: Sequence[float]) -> list[str]:
    """Mean with deviation, the same normalised, each one; the mean of the best moments with deviation."""
    if not values:
        return ["-"] * 4
    normalised = format_number(findings.normalise(fmean(values), task, references))
    return [_format_mean(values), normalised, ", ".join(map(format_number, values)), _format_mean(peaks)]


def _format_mean(values: Sequence[float]) -> str:
    return format_spread(fmean(values), stdev(values) if len(values) > 1 else None) if values else "-"


def _format_published(rows: Iterable[published.Published]) -> str:
    """Each published value once, also where papers print 12.04 and 12.040."""
    once = dict[tuple[float, str, str], str]()
    for row in rows:
        once.setdefault((float(row.value), row.std, row.paper), f"{row.shown} ({row.paper})")
    return ", ".join(once.values()) or "-"


def _build_published_table(scores: Sequence[Score], plan: Plan) -> str:
    """Every published number of these methods, and of human-written and sparse rewards, on this task."""
    found = [row for score in scores for row in published.find_beside(score, plan)]
    found += published.find_references(scores[0].task) if scores else []
    rows = [[r.method, r.shown, r.metric, r.statistic, f"{r.paper}, {r.table}", r.note] for r in dict.fromkeys(found)]
    return render_table(["in the papers", "value", "metric", "statistic", "paper, table", "note"], rows) if rows else ""


def _build_learning_table(scores: Sequence[Score]) -> str:
    """What the reward models of each arm had learned by their last session, where there are any."""
    rows = []
    for score in scores:
        held = [result.sessions for result in score.results if result.sessions]
        if held:
            last = [complete_sessions(sessions)[-1] for sessions in held]
            figures = [format_known_mean([one[name] for one in last]) for name in LEARNING]
            counts = [format_mean([sum(one[name] for one in sessions) for sessions in held]) for name in COUNTS]
            counts.append(format_mean([r.filmed_pairs for r in score.results if r.sessions]))
            rewards = zip(*(result.rewards for result in score.results if result.sessions), strict=True)
            figures += [format_known_mean(list(values)) for values in rewards]
            rows.append([score.arm.label, f"{len(held)}", format_mean([len(one) for one in held]), *counts, *figures])
    head = ["reward models", "n", "sessions", *COUNTS, "filmed", *LEARNING.values(), "learned reward", "human reward"]
    return render_table(head, rows) if rows else ""


def _build_elsewhere_table(foreign: Iterable[Result]) -> str:
    rows = []
    for r in foreign:
        finished = f"{r.finished_at:%Y-%m-%d %H:%M}" if r.finished_at else "-"
        rows.append([_name_experiment(r), finished, r.folder, r.machine or "-", r.version or "-"])
    return render_table(["experiment", "finished (UTC)", "report", "machine", "Prefine"], rows)


def _build_tests(scores: Sequence[Score]) -> str:
    """Exact tests of every arm against the first, with Holm's correction."""
    judged = [score for score in scores if score.values]
    if len(judged) < 2:
        return ""
    shown = {format_number(value) for score in judged for value in score.values}
    alike = [ALIKE_TEXT.format(*shown)] if len(shown) == 1 else []
    first, *others = judged
    tests = [mann_whitney(other.values, first.values) for other in others]
    corrected = holm([test.p for test in tests])
    rows = [
        [
            *[other.arm.label, f"{t.first}, {t.second}", f"{t.u:g}", f"{t.p:.4f}", f"{p:.4f}", f"{t.least_p:.4f}"],
            *_compare_by_seed(other, first),
        ]
        for other, t, p in zip(others, tests, corrected, strict=True)
    ]
    head = [f"against {first.arm.label}", "n", "U", "p", "p (Holm)", "smallest possible p"]
    return "\n\n".join([*alike, TESTS_TEXT, render_table([*head, "difference by seed", "higher", "p by seed"], rows)])


def _compare_by_seed(score: Score, first: Score) -> list[str]:
    """The mean difference between experiments of the same seed, how often the arm's TS is higher, and p."""
    known = {r.index: r.ts for r in first.results if r.ts is not None}
    pairs = [(r.ts, known[r.index]) for r in score.results if r.ts is not None and r.index in known]
    if not pairs:
        return ["", "", ""]
    test = compare_by_seed(*zip(*pairs, strict=True))
    higher = sum(ours > theirs for ours, theirs in pairs)
    return [format_spread(test.difference, test.deviation), f"{higher} of {len(pairs)}", f"{test.p:.4f}"]


def _build_rounds_table(scores: Sequence[Score]) -> str:
    """Best RTS so far by round, mean over the finished experiments."""
    longest = max((len(r.rounds) for s in scores for r in s.results), default=0)
    rows = []
    for score in scores:
        cells = []
        for number in range(longest):
            values = [r.rounds[number].best_so_far for r in score.results if number < len(r.rounds)]
            known = [v for v in values if v is not None]
            cells.append(format_number(sum(known) / len(known)) if known else "")
        rows.append([score.arm.label, *cells])
    return render_table(["best RTS so far, mean", *[f"round {n}" for n in range(1, longest + 1)]], rows)
