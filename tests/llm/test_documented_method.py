"""The example of docs/add-a-method.md is held to what is asked of every method."""

import inspect
import random
import re
from pathlib import Path

import pytest

from llm import messages, method, records, steps
from llm.methods import METHODS
from llm.prompts import render
from tests.llm import test_every_method as every
from tests.llm.experiment import Experiment

PAGE = Path(__file__).parents[2] / "docs" / "add-a-method.md"
CHECKS = [
    check
    for name, check in vars(every).items()
    if name.startswith("test_") and list(inspect.signature(check).parameters) == ["finished_experiment"]
]


def my_prompt(problem, best):
    """What the example leaves to its reader: the best one's program."""
    program = render("program", title="Parent 1", source=best.candidate.source.strip())
    return messages.make_chat(render("different", problem=messages.format_problem(problem), programs=program))


@pytest.fixture(scope="module")
def finished_experiment():
    names = {**vars(messages), **vars(method), **vars(records), **vars(steps)}
    names |= {"random": random, "my_prompt": my_prompt}
    exec(re.search(r"```python\n(def .*?)```", PAGE.read_text(), re.DOTALL)[1], names)
    (documented,) = names["METHODS"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(METHODS, documented.name, documented)
        experiment = Experiment(method=documented.name, k=3, n=3)
        yield experiment, experiment.run()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_passes_what_every_method_must(finished_experiment, check):
    check(finished_experiment)
