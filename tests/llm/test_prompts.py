import re
from string import Template

import pytest

from llm import prompts
from llm.errors import PromptError
from llm.messages import trace_text
from llm.prompts import render


@pytest.mark.parametrize("name", prompts.names())
def test_a_missing_or_unknown_variable_raises(name):
    wanted = Template((prompts.FOLDER / f"{name}.txt").read_text()).get_identifiers()
    values = {variable: f"<{variable}>" for variable in wanted}
    text = render(name, **values)
    assert all(value in text for value in values.values())
    assert "$" not in text
    for left_out in wanted:
        with pytest.raises(PromptError, match=rf"{name}.txt does not fit: missing \['{left_out}'\]"):
            render(name, **{k: v for k, v in values.items() if k != left_out})
    with pytest.raises(PromptError, match=r"unused \['surplus'\]"):
        render(name, **values, surplus="x")


def test_an_unknown_prompt_names_the_known_ones():
    with pytest.raises(PromptError, match="no prompt file 'nothing.txt'; known: best"):
        render("nothing")


def test_a_stray_dollar_raises(tmp_path, monkeypatch):
    (tmp_path / "costs.txt").write_text("It costs $5 and $name.")
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)
    with pytest.raises(PromptError, match="costs.txt does not fit"):
        render("costs", name="x")


def test_values_may_hold_dollars():
    assert render("reason", reason="it costs $5 and $name").endswith("it costs $5 and $name")


def test_a_trace_is_written_with_four_digits():
    trace = {"speed": {"samples": [0.123456, 2.0, None], "max": 12345.6, "mean": 1e-7, "min": -3}}
    assert trace_text(trace) == "- speed: [0.1235, 2, nan], max 1.235e+04, mean 1e-07, min -3"
    assert trace_text({}) == "(no trace was recorded)"


def test_prompt_files_have_short_lines():
    assert not [n for n in prompts.names() if re.search(r".{121}", (prompts.FOLDER / f"{n}.txt").read_text())]
