"""Published reward programs: which are found, taken out, refused, and whether their printed order survives."""

from pathlib import Path

import pytest

from benchmarks.kept import KEPT
from benchmarks.published_rewards import order
from benchmarks.published_rewards.__main__ import describe_order, describe_scores
from benchmarks.published_rewards.checks import Checked, check_programs, describe_checks, read_checks, save_checks
from benchmarks.published_rewards.reading import Program, read_programs
from benchmarks.published_rewards.table import read_scores, save_scores

pytestmark = pytest.mark.slow
ENVIRONMENT = """
import isaacgym

class Walker:
    def step(self):
        self.rew_buf[:], self.parts = compute_reward(self.root_states{given})

@torch.jit.script
def compute_reward(root_states: Tensor, up_vec: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # run, and stay upright
    speed = root_states[:, 7]
    upright = {upright}
    return speed + upright, {{"speed": speed, "upright": upright}}
"""
GOOD = ENVIRONMENT.format(given=", self.up_vec", upright="0.1 * up_vec[:, 2]")
OVER_ALL_WORLDS = ENVIRONMENT.format(given=", self.up_vec", upright="up_vec[:, 2] - up_vec[:, 2].max()")
RENAMED = ENVIRONMENT.format(given=", self.heading_vec", upright="0.1 * up_vec[:, 2]")


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_folder_is_read_by_method_task_and_model(tmp_path):
    files = {"isaac/RFAgent/Humaniod-4o-mini.py": GOOD, "two/Eureka/Juggle.py": GOOD, "isaac/cfg/Ant.py": GOOD}
    one, two = read_programs(write(tmp_path, {**files, "isaac/Eureka/util.py": "x = 1\n"}))
    assert (one.method, one.named, one.model, one.task) == ("RF-Agent", "Humaniod", "4o-mini", "Humanoid")
    assert (two.method, two.named, two.model, two.task) == ("Eureka", "Juggle", "", None)
    assert one.source.startswith("def compute_reward(root_states") and one.source.endswith('"upright": upright}')
    with pytest.raises(ValueError, match="holds no program"):
        read_programs(tmp_path / "isaac" / "cfg")


def test_a_file_has_programs_under_headings(tmp_path):
    program = GOOD[GOOD.index("def compute_reward") :]
    text = f"# Copied\n\n## ICPL, Ant\n\n```python\n{program}```\n\n## Eureka, Ant, GPT-4o\n\n```python\n{program}```\n"
    one, two = read_programs(write(tmp_path, {"printed.md": text}) / "printed.md")
    assert (one.method, one.task, one.model) == ("ICPL", "Ant", "") and one.source == program.strip()
    assert (two.method, two.task, two.model) == ("Eureka", "Ant", "GPT-4o")
    assert [order.find_printed(p).value for p in (one, two)] == [12.04, 5.77]


def test_what_is_refused_says_why(tmp_path):
    files = {"Eureka/Ant-a.py": GOOD, "Eureka/Ant-b.py": OVER_ALL_WORLDS, "Eureka/Ant-c.py": RENAMED}
    unknown = GOOD.replace("up_vec", "foot_temperature")
    found = read_programs(write(tmp_path, {**files, "Eureka/Ant-d.py": unknown, "Eureka/Juggle.py": GOOD}))
    checked = check_programs(found, "quick")
    assert [one.verdict for one in checked] == ["accepted", *["refused"] * 3, "no task here"]
    said = "\n".join(describe_checks(checked))
    assert "of one world depends on the other worlds" in said
    assert "its argument up_vec is given self.heading_vec" in said
    assert "argument 'foot_temperature' is not a variable of this task |" in said
    assert "| Eureka | 5 | 1 | 3 | 1 |" in said
    save_checks(tmp_path / "checks.csv", checked)
    again = read_checks(tmp_path / "checks.csv")
    assert [one.verdict for one in again] == [one.verdict for one in checked]
    assert "'" not in (tmp_path / "checks.csv").read_text(), "no name that the program gives"


def test_an_order_survives_turns_round_or_is_not_shown():
    def of(method, scores):
        return Program(method, "Ant", "4o-mini", "", method), dict(enumerate(scores))

    best = of("RF-Agent", [5.0, 5.1, 5.2, 5.3, 5.4])  # printed 6.22, Revolve's 5.16, Eureka's 4.87
    scored = [of("Eureka", [4.0, 4.2, 4.1, 4.4, 4.3]), best, of("Revolve", [3.0, 3.1, 3.3, 3.2, 3.4])]
    verdicts = {(p.first.method, p.second.method): p.verdict for p in order.list_pairs(scored)}
    assert verdicts == {
        ("RF-Agent", "Eureka"): "yes",
        ("RF-Agent", "Revolve"): "yes",
        ("Revolve", "Eureka"): "no, the other way round",
    }
    assert "Of 3 printed orders 2 survive, 1 are the other way round, 0 cannot be told" in "\n".join(
        describe_order(scored)
    )
    one_seed = [of("Eureka", [4.0]), of("Revolve", [3.0])]
    close = [of("Eureka", [4.0, 4.2, 4.1]), of("RF-Agent", [4.5, 4.8, 4.9]), of("Revolve", [4.0, 4.9, 4.1])]
    assert [p.verdict for p in order.list_pairs(close)] == ["seen: yes", "not shown", "not shown"]
    assert [p.verdict for p in order.list_pairs(one_seed)] == ["not shown: too few seeds, or no difference"]
    other = Program("RF-Agent", "Ant", "4o", "", "other model")
    assert not order.list_pairs([scored[0], (other, best[1])]), "programs of two models are not set against each other"
    assert Checked(other, refused="check: it draws").verdict == "refused"


def test_a_file_of_scores_is_counted_again_without_the_programs(tmp_path):
    eureka, revolve = (Program(method, "Ant", "4o-mini", "text", method) for method in ("Eureka", "Revolve"))
    scored = [(eureka, {0: 4.0, 1: 4.5}), (revolve, {0: 5.25, 1: 5.5})]
    save_scores(tmp_path / "scores.csv", "quick", scored)
    read = read_scores(tmp_path / "scores.csv", "quick")
    assert [scores for _, scores in read] == [scores for _, scores in scored] and read[0][0].text == ""
    assert list(describe_order(read)) == list(describe_order(scored))
    with pytest.raises(ValueError, match="holds no scores with the preset paper"):
        read_scores(tmp_path / "scores.csv", "paper")


def test_the_documented_scores_and_orders_are_those_of_their_file():
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text()
    scored = read_scores(KEPT / "published-rewards.csv", "quick")
    rows = [*describe_scores(scored), *describe_order(scored)]
    assert all(row in page for row in rows if row.startswith("|"))


def test_the_documented_verdicts_are_those_of_their_file():
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text()
    checked = read_checks(KEPT / "published-checks.csv")
    rows = [row for row in describe_checks(checked) if row.startswith("|") and not row.endswith("| accepted |")]
    assert len(checked) == 72 and all(row in page for row in rows)
