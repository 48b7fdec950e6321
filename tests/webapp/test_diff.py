from webapp.bench.experiments.code_diff import align_lines, find_changed_words, highlight, summarize_rows

OLD = "def f(x):\n    a = 2.0 * x\n    return a\n"
NEW = "def f(x):\n    a = 3.5 * x\n    b = a + 1\n    return a\n"


def text(line):
    import re

    return re.sub(r"<[^>]+>", "", line.html) if line else None


def test_rows_align_equal_changed_and_added_lines():
    rows = align_lines(OLD, NEW)
    assert [(row.kind, row.left and row.left.number, row.right and row.right.number) for row in rows] == [
        ("equal", 1, 1),
        ("changed", 2, 2),
        ("added", None, 3),
        ("equal", 3, 4),
    ]
    assert [text(row.right) for row in rows] == NEW.splitlines()
    assert summarize_rows(rows) == "lines: 1 changed, 1 added"


def test_only_the_changed_number_is_marked():
    row = align_lines(OLD, NEW)[1]
    assert row.left.html.count("<mark>") == row.right.html.count("<mark>") == 1
    assert '<mark><span class="c-mf">2.0</span></mark>' in row.left.html
    assert '<mark><span class="c-mf">3.5</span></mark>' in row.right.html


def test_marks_are_character_spans_of_words():
    old, new = "r = 2.0 * up", "r = 2.5 * up_vec"
    a, b = find_changed_words(old, new)
    assert [old[i:j] for i, j in a] == ["2.0", "up"]
    assert [new[i:j] for i, j in b] == ["2.5", "up_vec"]


def test_removed_lines_have_no_right_side():
    rows = align_lines(NEW, OLD)
    assert [row.kind for row in rows] == ["equal", "changed", "removed", "equal"]
    assert rows[2].right is None


def test_the_same_source_differs_nowhere():
    assert summarize_rows(align_lines(OLD, OLD)) == "no line differs"


def test_hostile_source_is_escaped():
    lines = highlight('x = "<script>alert(1)</script>" # & <b>\n')
    assert "<script>" not in lines[0].html and "&lt;script&gt;" in lines[0].html and "&amp; &lt;b&gt;" in lines[0].html


def test_code_that_does_not_parse_and_odd_line_ends_keep_their_lines():
    source = 'def f(:\n\n\t"""open\r\nstring\x0c x'
    assert [text(line) for line in highlight(source)] == [line.replace('"', "&quot;") for line in source.splitlines()]
    assert len(align_lines(source, "")) == len(source.splitlines())
    assert highlight("") == [] or text(highlight("")[0]) == ""
