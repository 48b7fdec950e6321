"""The import of an export into an empty installation."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from tests.webapp.exports import open_zip, rows_of
from tests.webapp.sites import create_site

OWN = ("manifest.json", "SHA256SUMS", "versions.json")
"""Files that describe the other files and their author."""
BROUGHT = """
from pathlib import Path
from webapp.archive import export, importer
from webapp.experiments.models import Experiment
from webapp.review import models as review
from webapp.studies.models import Participant
from webapp.votes import models as votes, poll_results
export.write_export(importer.restore(Path({path!r}), "ada"), Path({again!r}))
out["people"] = sorted(Participant.objects.values_list("label", "outcome"))
out["votes"] = [review.Vote.objects.count(), review.Vote.objects.filter(undone_at=None).count()]
ended = Experiment.objects.exclude(winner=None).order_by("public_id")
out["winners"] = [[str(row.public_id), row.winner.source] for row in ended]
out["pair votes"] = votes.Vote.objects.count()
out["preferred"] = [
    [pair.preference.first, pair.preference.second, pair.equal]
    for poll in votes.Poll.objects.order_by("pk") for pair in poll_results.compute_results(poll).pairs
]
"""


def check_import(path: Path, data: Path) -> None:
    """Rows come to be what the zip says, and an export from there holds the same, film by film and word by word.

    What training left in files, traces and policies, no import takes in.
    """
    again = data / "again.zip"
    with contextlib.closing(create_site(data)) as site:
        assert site.python(BROUGHT.format(path=str(path), again=str(again))) == summarize_zip(path)
    one, two = open_zip(path), open_zip(again)
    names = {name for name in one.namelist() if not name.startswith(("traces/", "policies/"))}
    assert names == set(two.namelist())
    for name in names.difference(OWN):
        assert two.read(name) == one.read(name), name


def summarize_zip(path: Path) -> dict[str, Any]:
    """The same of the zip itself."""
    package = open_zip(path)
    votes, sources = rows_of(package, "votes"), {row["id"]: row["source"] for row in rows_of(package, "candidates")}
    ended = sorted((row["public_id"], row["winner"]) for row in rows_of(package, "experiments") if row["winner"])
    found = [json.loads(package.read(name)) for name in sorted(package.namelist()) if name.endswith("/results.json")]
    return {
        "people": sorted([row["label"], row["outcome"]] for row in rows_of(package, "participants")),
        "votes": [len(votes), sum(row["undone_at"] is None for row in votes)],
        "winners": [[name, sources[winner]] for name, winner in ended],
        "pair votes": len(rows_of(package, "pair_votes")),
        "preferred": [[pair["first"], pair["second"], pair["equal"]] for poll in found for pair in poll["pairs"]],
    }
