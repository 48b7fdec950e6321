"""Tables of the bench are cards on phones, so that long names scroll nothing sideways."""

import re
from pathlib import Path

TEMPLATES = Path(__file__).parents[2] / "templates" / "bench"
OTHERS = {
    "_figure.html": "a figure's numbers: as many columns as it has lines",
    "experiments/_details.html": "settings with their values: two or three columns that wrap",
    "studies/_links.html": "its own cards",
    "studies/_texts_table.html": "its own cards",
    "votes/_people.html": "its own cards",
    "votes/_results.html": "attention checks: a name that wraps and two numbers",
    "votes/poll.html": "power: numbers alone",
    "workers/index.html": "its own cards",
}
"""Files with a table that is no stack, and why. One such table in each."""


def test_tables_with_names_are_cards_on_phones() -> None:
    found = {}
    for path in sorted(TEMPLATES.rglob("*.html")):
        classes = re.findall(r'class="(table-wrap[^"]*)"', path.read_text())
        if plain := sum("stacks" not in words for words in classes):
            found[str(path.relative_to(TEMPLATES))] = plain
    assert found == dict.fromkeys(OTHERS, 1)
