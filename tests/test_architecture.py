"""Pages of docs/ name files that exist and wrap: where to change what; which tests hold a claim of security."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = (ROOT / "docs/architecture.md").read_text().partition("## Where to change what")[2].partition("\n## ")[0]
METHODS = (ROOT / "docs/methods.md").read_text()
ROWS = [line for line in TABLE.splitlines() if line.startswith("| ") and "`" in line]
REQUESTS = ("a task", "a method", "a judge", "a request kind", "a chart", "a language", "the review page")
REQUESTS += ("the time left", "the lease time", "the camera", "the media store", "a worker on another machine")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:].partition(" |")[0])
def test_every_file_is_there(row):
    folder = ROOT
    for name in re.findall(r"`([\w/.<>]+\.(?:py|html|js|json|md|xml)|[\w/<>]+/)`", row):
        pattern = re.sub(r"<\w+>", "*", name).rstrip("/")
        found = [path for place in (ROOT, folder, folder.parent) for path in place.glob(pattern)]
        assert found, f"{name} is not there"
        folder = found[0].parent


def test_the_table_answers_the_twelve_usual_requests():
    first = [row[2:].partition(" |")[0] for row in ROWS]
    assert [words for words in REQUESTS if not any(words in cell for cell in first)] == []


def test_the_tests_that_the_security_page_names_are_there():
    named = re.findall(r"`([\w/*]+\.py|[\w/]+/)`", (ROOT / "docs/security.md").read_text())
    named = [name for name in named if "test_" in name or "hostile" in name]
    assert len(named) > 40
    for name in named:
        places = (ROOT / "tests", ROOT / "tests/webapp")
        assert [path for place in places for path in place.glob(name.rstrip("/"))], f"{name} is not there"


def test_the_files_that_the_page_of_methods_names_are_there():
    named = re.findall(r"`((?:llm|simulation|teachers|tests|trainer|webapp)/[\w/]+\.(?:py|txt)|llm/[\w/]+/)`", METHODS)
    assert len(named) > 12
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_pages_wrap_at_110_columns():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/decisions/*.md")]
    long = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in pages
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if len(line) > 110 and not line.startswith(("|", "    ", "#", "!["))  # tables, code, titles and pictures stay
    ]
    assert long == []
