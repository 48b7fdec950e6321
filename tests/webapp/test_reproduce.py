"""The commands of docs/reproduce.md are accepted: each makes a plan that could run."""

import re
import shlex
from pathlib import Path

import pytest

from webapp.comparisons.command_plan import read_comparison
from webapp.comparisons.management.commands import compare
from webapp.experiments.models import LanguageModel

PAGE = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text()
BLOCKS = re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE)
COMMANDS = [
    shlex.split(command)[2:]
    for block in BLOCKS
    for command in re.split(r"(?=\./prefine )", block.replace("\\\n", " "))
    if command.startswith("./prefine compare") and "PROBLEM" not in command
]


def test_the_page_has_the_commands_of_all_four_papers():
    assert len(COMMANDS) >= 9


@pytest.mark.django_db
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command)[-60:])
def test_a_command_makes_a_plan(command, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    LanguageModel.objects.create(name="NAME", kind="openai", base_url="http://x.example/v1", model="m")
    options = compare.Command().create_parser("prefine", "compare").parse_args(command)
    plan = read_comparison(vars(options))[0].plan
    assert plan.retrain == 5 and plan.experiments >= 3
    for arm in plan.arms:
        assert arm.again or arm.method.startswith("scaling_context") or arm.candidates in (1, plan.candidates), arm
