"""Sections, final answers and programs in what models write, tidy and untidy."""

import pytest

from llm.reasoning.extract import boxed, final_answer, program, sections

TITLES = ("Final answer", "Reasoning")


def test_sections_by_heading_or_bold_line():
    found = sections("Hello\n\n## Final answer\n\n$5$\n\n**Reasoning**\n\nBecause.\n```\n# not a heading\n```\n")
    assert [(s.title, s.text.split("\n")[0]) for s in found] == [
        ("", "Hello"),
        ("Final answer", "$5$"),
        ("Reasoning", "Because."),
    ]
    assert "# not a heading" in found[2].text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("## Final answer\n\n$x = 5$\n\n## Reasoning\n\nLong.", "$x = 5$"),
        ("## Final Answer:\nSo \\boxed{\\frac{1}{2}}.\n## Reasoning\nx", "\\frac{1}{2}"),
        ("**Final answer:**\n7\n\n**Reasoning**\nbecause", "7"),
        ("Reasoning, then \\boxed{3} and then \\boxed{12}", "12"),
        ("Long talk. The final answer is 17.", "17."),
        ("Answer: **yes**", "yes"),
        ("<think>## Final answer\n1</think>## Final answer\n2", "2"),
        ("## Final answer\n5\n## Final answer\n6", "6"),
        ("I do not know.", None),
        ("## Final answer\n", None),
        ("", None),
    ],
)
def test_the_final_answer(text, answer):
    assert final_answer(text, TITLES) == answer


def test_another_first_section_is_the_final_answer_of_a_physics_problem():
    text = "## Key final answer\n\n3 N\n\n## All final answers\n\n1, 2, 3 N\n\n## Reasoning\n\n..."
    assert final_answer(text, ("Key final answer", "All final answers", "Reasoning")) == "3 N"


def test_a_plain_final_answer_will_do_where_another_heading_was_asked_for():
    text = "## Final answer\n\n4 N\n\n## Reasoning\n\nx"
    assert final_answer(text, ("Key final answer", "All final answers", "Reasoning")) == "4 N"


def test_headings_with_closing_signs_and_those_in_several_fences():
    text = "## One ##\na\n```\n# no\n```\n# C#\nb\n~~~\n## no\n~~~\n**Two:**\nc"
    assert [s.title for s in sections(text)] == ["One", "C", "Two"]


def test_a_box_with_braces_inside():
    assert boxed("\\boxed{\\{1, 2\\}}") == "\\{1, 2\\}"
    assert boxed("\\boxed{a") is None and boxed("none") is None


def test_the_last_complete_program_in_the_language_counts():
    text = "Idea.\n```cpp\nint main() { return 1; }\n```\nBetter:\n```cpp\nint main() { return 2; }\n```\n"
    text += "```python\nprint(1)\n```"
    assert program(text, "cpp") == "int main() { return 2; }\n"
    assert program(text, "python") == "print(1)\n"
    assert program("```cpp\nint main() { return 1;", "cpp") is None, "cut off"
    assert program("```cpp\nint f();\n```", "cpp") is None, "no main"
    assert program("```\nint main() {}\n```", "cpp") == "int main() {}\n"
    assert program("int main() {}", "cpp") is None
