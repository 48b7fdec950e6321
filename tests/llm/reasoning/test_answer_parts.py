"""Sections, final answers and programs in what models write, tidy and untidy."""

import pytest

from llm.extract import find_source
from llm.reasoning.answer_parts import MOST_LETTERS, final_answer, find_boxed, find_program, split_sections

TITLES = ("Final answer", "Reasoning")


def test_sections_by_heading_or_bold_line():
    found = split_sections("Hello\n\n## Final answer\n\n$5$\n\n**Reasoning**\n\nBecause.\n```\n# not a heading\n```\n")
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
        ("## Final answer\n\n**571**\n\n## Reasoning\n\nLong.", "571"),
        ("## Final answer\n\n### 571\n\n## Reasoning\n\nLong.", "571"),
        ("## Reasoning\n\n### Steps\n\nLong.\n\n## Final answer\n### $x^2$", "$x^2$"),
        ("## Final answer\n\n## Reasoning\n\nIt is \\boxed{7}.", "7"),
        ("## Final answer\n\n## Solution\n\n### Step 1\n\nIt is \\boxed{7}.", "7"),
        ("## Final answer\n\n### Why\n\nThe answer is 7.", "7."),
        ("## Final answer\n\n**No:** there is none\n\n## Reasoning\nx", "**No:** there is none"),
        ("**Final answer**: $42$\n\n**Reasoning**\nbecause", "$42$"),
        ("**Final answer:** 42\n\n**Reasoning:** because", "42"),
        ("**Final answer: 42**\n\n**Reasoning**\nbecause", "42"),
        ("**Final answer is 42**\n\n**Reasoning**\nbecause", "42"),
        ("## Final answer: **42**\n\n## Reasoning\nbecause $1$", "42"),
        ("### 1. Final answer\n5\n### 2. Reasoning\nbecause", "5"),
        ("**1) Final answer**\n5\n\n**2) Reasoning**\nbecause", "5"),
        ("1. **Final answer:** 5\n2. **Reasoning:** because", "5"),
        ("### **Final answer**\n5\n\n---\n\n### **Reasoning**\nbecause", "5"),
        ("## Final answer\n5\n\n**Explanation:** because", "5"),
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
    text = "## One ##\na\n```\n# no\n```\n# C#\nb\n~~~\n## no\n~~~\n**Reasoning:**\nc"
    assert [s.title for s in split_sections(text)] == ["One", "C", "Reasoning"]


def test_a_bold_line_is_a_heading_only_with_a_title_that_is_known():
    found = split_sections("## Final answer\n\n**571**\n\n**Reasoning**\n\n**Step 1**\n\nCount.")
    assert [(s.title, s.text) for s in found] == [("Final answer", "**571**"), ("Reasoning", "**Step 1**\n\nCount.")]


def test_a_fence_in_another_fence_is_code():
    found = split_sections("~~~\n```\n# no\n```\n# no\n~~~\n```python first.py\n# no\n```\n# One\na")
    assert [s.title for s in found] == ["", "One"]


def test_a_box_with_braces_inside():
    assert find_boxed("\\boxed{\\{1, 2\\}}") == "\\{1, 2\\}"
    assert find_boxed("\\boxed{a") is None and find_boxed("none") is None


def test_the_last_complete_program_in_the_language_counts():
    text = "Idea.\n```cpp\nint main() { return 1; }\n```\nBetter:\n```cpp\nint main() { return 2; }\n```\n"
    text += "```python\nprint(1)\n```"
    assert find_program(text, "cpp") == "int main() { return 2; }\n"
    assert find_program(text, "python") == "print(1)\n"
    assert find_program("```cpp\nint main() { return 1;", "cpp") is None, "cut off"
    assert find_program("```cpp\nint f();\n```", "cpp") is None, "no main"
    assert find_program("```cpp\nint f();\n```\n```cpp\n#include <g.h>\nint g() {}\n```", "cpp", "g.h").endswith(
        "int g() {}\n"
    )
    assert find_program("```cpp\nint main() {}\n```", "cpp", "g.h") is None, "without the header"
    assert find_program("```\nint main() {}\n```", "cpp") == "int main() {}\n"
    assert find_program("int main() {}", "cpp") is None


PYTHON = "```python\nprint(int(input()) + 1)\n```\n"


@pytest.mark.parametrize(
    "text",
    [
        PYTHON + "It prints:\n```\n571\n```",
        PYTHON + "It prints:\n```text\n571\n```",
        PYTHON + "```output\nprint\n```\n```bash\npython main.py\n```\n```{.text}\nprint\n```",
        "```\n1\n```\n" + PYTHON,
        PYTHON.replace("python", "python main.py") + "It prints:\n```\n571\n```",
        PYTHON.replace("python", "{.python3.11 file=main.py}"),
        PYTHON.replace("python", "") + "It prints:\n```\n571\n```",
    ],
)
def test_what_a_program_prints_is_not_the_program(text):
    assert find_program(text, "python") == "print(int(input()) + 1)\n"


def test_a_fence_of_another_language_is_never_the_program():
    assert find_program("```text\nprint(1)\n```", "python") is None
    assert find_program("```java\nint main() {}\n```", "cpp") is None
    assert find_program(PYTHON.replace("\n```\n", "") + "\n", "python") is None, "cut off"
    assert find_program("```\nprint(1)\n```\n```python\nprint(2", "python") is None, "the one that counts is cut off"
    assert find_program("```c++17\nint main() {}\n```", "cpp") == "int main() {}\n"


HOSTILE = {
    "stars": "*" * 200_000,
    "a title and spaces": "## Final answer" + " " * 100_000 + "x*",
    "a title and stars": "**Final answer" + "*" * 100_000 + "x",
    "boxes that do not close": "\\boxed{" * 28_000,
    "tildes": "~" * 100_000 + "`",
    "a fence and spaces": "```" + " " * 100_000 + "`",
    "a language of digits": "```" + "1" * 100_000 + "x\n",
    "headings behind fences": "```\n```\n# a\n" * 16_000,
    "thoughts that do not end": "<think>" * 28_000,
}


@pytest.mark.slow
@pytest.mark.timeout(60)  # each took minutes while it was read in quadratic time
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_answers_are_read_in_linear_time(text):
    final_answer(text, TITLES)
    split_sections(text)
    find_boxed(text)
    find_program(text, "python")
    find_source(text)


def test_only_the_beginning_of_an_endless_answer_is_read():
    text = "## Reasoning\n\n" + "a " * MOST_LETTERS + "\n## Final answer\n\n5"
    assert final_answer(text, TITLES) is None
    assert sum(len(part.text) for part in split_sections(text)) <= MOST_LETTERS


def test_nested_boxes_and_escaped_braces():
    assert find_boxed("\\boxed{1} then \\boxed{a \\{ \\boxed{2}} and \\boxed{3") == "2"
    assert find_boxed("} \\fbox {4}") == "4"
    assert find_boxed("\\boxed{1} \\boxed{ }") is None
