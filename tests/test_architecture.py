"""Pages of docs/ name files that exist and wrap, files that share a name mirror one another on purpose, and names of
functions begin as docs/architecture.md says.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = (ROOT / "docs/architecture.md").read_text().partition("## Where to change what")[2].partition("\n## ")[0]
METHODS = (ROOT / "docs/methods.md").read_text()
ROWS = [line for line in TABLE.splitlines() if line.startswith("| ") and "`" in line]
REQUESTS = ("a task", "a method", "a judge", "a request kind", "a chart", "a language", "the review page")
REQUESTS += ("the time left", "the lease time", "the camera", "the media store", "a worker on another machine")

PACKAGES = (
    "llm",
    "programs",
    "simulation",
    "teachers",
    "trainer",
    "webapp",
)  # benchmarks bear the names of what they measure
DJANGO = {"admin", "apps", "forms", "middleware", "models", "settings", "signals", "tasks", "urls", "views"}
MIRRORED_FOLDERS = (
    {"webapp/experiments/kinds", "webapp/experiments/execute"},  # a kind of request, and what its worker does
    {"llm/judges", "webapp/experiments/judges"},  # how a judge judges, and its entry in the registry
    {"llm/forms", "webapp/problems/forms"},  # what a model is told of a form, and what reviewers read
    {"webapp/problems/media", "webapp/studio/presentations"},  # a medium, and how pages show it
    {"llm/methods", "webapp/bench/experiments"},  # a method, and its part of the page
    {
        "webapp/archive/tables",
        "webapp/bench/admin",
        "webapp/studies/models",
    },  # an app's rows: exported, listed, defined
)
MIRRORED_NAMES = {
    "alignment": "the scale of the ratings; the experiments that rate",
    "figures": "the charts of an experiment; of a vote",
    "film": "the program that films; the job that starts it",
    "gold_pairs": "the rules; their page",
    "judge": "the registry's interface; the kind of request that a judge answers",
    "kind": "the interface of a registry, beside the folder kinds/",
    "languages": "the texts of a study in other languages; of a vote",
    "notices": "the admin's list; the template tags",
    "overview": "what the main page of an experiment, a study, a comparison shows",
    "pairs": "the rows; the rules by which people answer them",
    "pilots": "the rules; their page",
    "prompt_sets": "the rows; the rules",
    "proposals": "what is proposed for a new study; for a new vote",
    "questionnaires": "an app's rows; a participant's page",
    "records": "a package's plain records",
    "run": "a training's coordinator; the kind of request that tests answers",
    "workers": "the rows; the rules",
}

DEFINITION = re.compile(r"^( *)((?:@[^\n]*\n\1)*)(?:async )?def _*(([a-z]+)\w*)\((self|cls)?", re.M)
LITTLE_WORDS = (
    "about above across after again against almost already also always among around at before began behind below "
    "beside between beyond by during early elsewhere ever every for here in inside into late near never now of off "
    "often on once only onto out outside over past per since soon stuck still then there through together toward "
    "towards under until up upon when where while with within without"
)
ADJECTIVES = (
    "best default detectable different drawn each empty existing extra final finite first flat full general given "
    "initial kept known largest last latest left long made mixed most named new newest next offered old other own "
    "plain positive possible private public random raw right safe said same seen sent short shorter shown single "
    "smallest some special temporary typical unknown unused usual visual whole worst wrong"
)
"""And participles. A method may begin with one: it may be named after a part of its object."""
NAMES_OF_OTHERS = {
    *("by_id", "first_prompt", "on_device"),  # documented for methods and tasks
    *("final_answer", "new_seed", "new_token"),  # migrations import them
    *("largest", "short_range", "smallest"),  # take the place of Python's max, range and min in rewards
    "on_reply",  # a hook
}
REVISED = {"robots", "tasks"}
"""Folders whose code a task's revision stands for, names included."""


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


def test_files_share_a_name_only_on_purpose():
    folders = defaultdict(set)
    for package in PACKAGES:
        for file in (ROOT / package).rglob("[a-z]*.py"):
            folder = file.parent.relative_to(ROOT)
            if not {"commands", "migrations"} & set(folder.parts) and not folder.is_relative_to("simulation/tasks"):
                folders[file.stem].add(str(folder))
    shared = {name: found for name, found in folders.items() if len(found) > 1 and name not in DJANGO}
    by_chance = {name: found for name, found in shared.items() if not any(found <= group for group in MIRRORED_FOLDERS)}
    new = {f"{name}.py": sorted(found) for name, found in by_chance.items() if name not in MIRRORED_NAMES}
    assert not new, "rename one of them to what it is, or say in MIRRORED_NAMES in what they mirror one another"
    assert sorted(MIRRORED_NAMES.keys() - by_chance.keys()) == [], "these names are no longer shared"


def test_no_function_begins_with_a_preposition_an_adverb_an_adjective_or_a_participle():
    paths = [path for package in PACKAGES for path in ROOT.glob(f"{package}/**/*.py")]
    assert len(paths) > 700
    little, more = set(LITTLE_WORDS.split()), set(ADJECTIVES.split())
    found = []
    for path in paths:
        if {"migrations", *REVISED} & set(path.relative_to(ROOT).parts):
            continue
        for _, decorators, name, word, of_object in DEFINITION.findall(path.read_text()):
            refused = word in little or (word in more and not of_object)
            if refused and not decorators and name not in NAMES_OF_OTHERS:  # decorators make properties, views, filters
                found.append(f"{path.relative_to(ROOT)}: {name}")
    assert found == []


def test_pages_wrap_at_110_columns():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/decisions/*.md")]
    long = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in pages
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if len(line) > 110 and not line.startswith(("|", "    ", "#", "!["))  # tables, code, titles and pictures stay
    ]
    assert long == []
