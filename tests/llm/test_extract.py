import textwrap

import pytest

from llm.extract import find_fenced_blocks, find_source, find_thought, list_arguments, normalize_program, strip_thinking

CODE = """def compute_reward(a: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    b = a
    return b, {"b": b}
"""
INDENTED = textwrap.indent(CODE, "   ")


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{CODE}```",
        f"Here it is:\n\n```python\n{CODE}```\nIt rewards b.",
        f"~~~\n{CODE}~~~",
        f"````py\n{CODE}````",
        f"```python\n{CODE}",
        f"1. First:\n\n   ```python\n{INDENTED}   ```",
        CODE,
        f"Sure, this is it:\n\n{CODE}\nThis rewards `b`, because it is good.\n- Point\n  more of it\n",
        f"{CODE}\n\n\nThis rewards `b`.",
        f"<think>\n```python\ndef compute_reward(wrong): return 1\n```\n</think>\n```python\n{CODE}```",
        f"thinking aloud ```python\ndef compute_reward(wrong): pass\n```</think>```python\n{CODE}```".replace(
            "</think>", "</think>\n"
        ),
        f"```python\nprint(1)\n```\n```python\n{CODE}```\nUse it so:\n```python\nx = 1\n```",
        f"```python\ndef compute_reward(first): pass\n```\nBetter:\n```python\n{CODE}```",
        f"```python\nimport torch\nfrom typing import (\n    Dict,\n    Tuple,\n)\n\n{CODE}```",
        f"```python\n@torch.jit.script\n{CODE}```",
        f"```python\n{CODE.replace('    b', chr(9) + 'b').replace('    r', chr(9) + 'r')}```",
        f"```python\r\n{CODE}```".replace("\n", "\r\n"),
    ],
)
def test_it_finds_the_program(text):
    assert find_source(text) == CODE


@pytest.mark.parametrize(
    "text", ["", "I cannot do that.", "```python\nx = 1\n```", "<think>def compute_reward", "compute_reward"]
)
def test_it_says_when_there_is_none(text):
    assert find_source(text) is None


def test_a_program_with_a_syntax_error_is_kept_whole_for_the_check_to_explain():
    broken = CODE.replace("b = a", "b = = a")
    assert find_source(f"```python\n{broken}```") == broken


def test_a_cut_off_program_is_kept_as_far_as_it_goes():
    assert find_source(f"```python\n{CODE[:-12]}") == CODE[:-12].strip() + "\n"


def test_helpers_before_and_after_stay():
    text = f"def helper(x):\n    return x\n\n\n{CODE}\n\ndef other(x):\n    return x\n"
    assert find_source(f"```python\n{text}```") == text


def test_imports_inside_the_function_go():
    assert find_source(CODE.replace("    b = a", "    import torch\n    b = a")) == CODE


def test_an_unclosed_thought_reaches_to_the_end():
    assert strip_thinking("a <think> b") == "a "
    assert strip_thinking("a <thinking>b</thinking> c") == "a  c"


def test_a_fence_inside_a_longer_fence_is_text():
    assert find_fenced_blocks("````\n```\nx\n```\n````") == ["```\nx\n```"]


def test_essence_ignores_comments_docstring_and_layout_only():
    dressed = CODE.replace("    b = a", '    """Rewards b."""\n    # b is good\n    b = (a)')
    assert normalize_program(dressed) == normalize_program(CODE)
    assert normalize_program(CODE.replace("b = a", "b = 2.0 * a")) != normalize_program(CODE)
    assert normalize_program("not python (") == "not python ("


SHORT = "def compute_reward(dt):\n    return dt, {}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Reward speed.\n\nThen more.\n```python\n{SHORT}\n```\nDone.", "Reward speed.\n\nThen more."),
        (f"<think>hm</think>Reward speed.\n{SHORT}", "Reward speed."),
        (f"A draft:\n```\nx = 1\n```\nBetter:\n```python\n{SHORT}\n```", "A draft:\n```\nx = 1\n```\nBetter:"),
        (f"```python\n{SHORT}\n```", ""),
        ("No code at all. ", "No code at all."),
    ],
)
def test_the_thought_is_what_stands_before_the_code(text, expected):
    assert find_thought(text) == expected


def test_the_arguments_of_a_reward_are_the_inputs_that_it_reads():
    code = "def compute_reward(dt: float, up_vec: torch.Tensor) -> int:\n    return dt"
    assert list_arguments(code) == ("dt", "up_vec")
    assert list_arguments("not python(") == ()


@pytest.mark.parametrize("long", [" + ".join(["dt"] * 1500), "-" * 1500 + "dt"])
def test_a_program_that_is_too_deep_to_walk_is_only_text(long):
    code = f"def compute_reward(dt):\n    return {long}, {{}}"
    assert find_source(f"```python\n{code}\n```") == f"{code}\n"
    assert normalize_program(code) == code
    assert list_arguments(code) == ()
