"""Reports with different budgets become one curve for each method."""

from benchmarks import budgets

ROUNDS = "public_id,candidates\n{rows}"
EXPERIMENTS = "task,label,public_id,ts,score\n{rows}"


def write_report(folder, candidates, rows):
    """A report whose experiments each tried this number of candidates."""
    folder.mkdir()
    spent = "".join(f"{row[1]},{candidates // 2}\n{row[1]},{candidates}\n" for row in rows)
    (folder / "rounds.csv").write_text(ROUNDS.format(rows=spent))
    held = "".join(f"sum,{label},{name},{ts},{score}\n" for label, name, ts, score in rows)
    (folder / "experiments.csv").write_text(EXPERIMENTS.format(rows=held))
    return folder


def test_a_curve_has_the_scores_of_each_budget_and_an_interval(tmp_path):
    small = write_report(tmp_path / "5", 6, [("Batch", "a", 1, 0.5), ("Batch", "b", 0, 0.7), ("3D", "c", 1, 1)])
    large = write_report(tmp_path / "15", 12, [("Batch", "d", 1, 0.9), ("3D", "e", "", "")])
    reports = [budgets.read_report(small), budgets.read_report(large)]
    assert budgets.choose_measure(reports[0] + reports[1]) == "score", "the last has neither yet"
    curves = budgets.collect_curves(reports, "score")
    assert curves == {"sum": {"Batch": {6: [0.5, 0.7], 12: [0.9]}, "3D": {6: [1.0]}}}
    table = budgets.render("sum", curves["sum"], "score")
    assert (
        "| method | 6 | 12 |" in table
        and "| Batch | 0.6 (-0.671 to 1.87) | 0.9 |" in table
        and "| 3D | 1 | - |" in table
    )
    chart = budgets.build_chart("sum", curves["sum"], "score")
    assert [(line.name, line.x, line.y) for line in chart.series][0] == ("Batch", (6.0, 12.0), (0.6, 0.9))


def test_where_answers_are_limited_the_budget_counts_tokens(tmp_path):
    rows = [('"3D scaling (context=2000, negative=uniform)"', "a", 1, ""), ("Batch (context=1000)", "b", 0, "")]
    report = budgets.read_report(write_report(tmp_path / "r", 10, rows))
    assert budgets.choose_measure(report) == "ts", "no winner was trained again"
    curves = budgets.collect_curves([report], "ts")["sum"]
    assert curves == {"3D scaling (negative=uniform)": {20_000: [1.0]}, "Batch": {10_000: [0.0]}}
