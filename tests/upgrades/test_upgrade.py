"""A site of an earlier version opens after `migrate`, and all its running work ends.

The fixtures beside this file were made with those versions; README.md says how. Each is unpacked into a data folder of
its own and looked at by a process of its own, as an upgrade happens.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llm import replay
from tests.upgrades import small_clips
from tests.webapp.servers import static_files

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FIXTURES = sorted(HERE.glob("*.tar.xz"))
DEAD = {"a cancelled one": "cancelled"}
"""Experiments that were not to go on."""
GOES_ON = ("running", "finished")


@dataclass(frozen=True)
class Site:
    """An earlier site under today's code."""

    folder: Path
    python: str

    def run(self, *command: str, data: str = "data", **settings: str) -> str:
        """What a command says, carried out with this data folder."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFINE_")}
        own = {"PREFINE_DATA": str(self.folder / data), "DJANGO_SETTINGS_MODULE": "webapp.settings"}
        own |= {"PREFINE_SECRET_KEY": "of-a-fixture-and-no-secret-" + "0" * 30, "PREFINE_UNDO_SECONDS": f"{10**9}"}
        env = kept | own | {"OMP_NUM_THREADS": "1"} | settings
        ended = subprocess.run([self.python, *command], cwd=ROOT, env=env, capture_output=True, text=True)
        assert ended.returncode == 0, f"{' '.join(command)}: {ended.stderr[-4000:]}"
        return ended.stdout

    def parts(self, *names: str, data: str = "data") -> Any:
        """What these parts of go_on.py saw, one after the other in one process."""
        return json.loads(self.run(str(HERE / "go_on.py"), str(self.folder), *names, data=data).splitlines()[-1])


@pytest.fixture(scope="module", params=FIXTURES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """After `migrate`, and before anything goes on."""
    folder = tmp_path_factory.mktemp("upgrade")
    with tarfile.open(request.param) as archive:
        archive.extractall(folder / "site", filter="data")
    site = Site(folder / "site", small_clips.python(folder / "python", ROOT))
    site.run("manage.py", "migrate", "--no-input")
    static_files(site.folder / "data")
    return site


@pytest.fixture(scope="module")
def gone_on(site: Site) -> Any:
    """What was seen before anything went on, and then on the way to the end."""
    return site.parts("audit", "pages", "votes", "experiments", "people")


@pytest.mark.exhaustive
def test_a_training_goes_on_from_its_checkpoint_and_old_rollouts_are_filmed(site: Site) -> None:
    seen = site.parts("training")["training"]
    assert seen["trained"] == [True, True] and seen["filmed"]
    assert min(seen["reached"], seen["first"]) > 0.3  # from its start it would say less at first


def test_every_page_answers_and_everybody_is_where_they_were(gone_on: Any) -> None:
    seen = gone_on["pages"]
    assert seen["failed"] == {} and seen["asked"] > 100
    assert seen["changed"] == {}
    assert "review" in seen["states"] and "ballot" in seen["states"] and len(seen["states"]) > 15


def test_the_audit_log_is_whole(gone_on: Any) -> None:
    assert gone_on["audit"]["said"].startswith("The chain holds")


def test_old_records_replay(site: Site) -> None:
    records = sorted((site.folder / "data" / "records").glob("*.json"))
    assert records
    for path in records:
        record = replay.read_record(path)
        assert replay.replay(record, strict=False).candidate == record.winner  # prompts may have other words today


def test_experiments_and_comparisons_go_to_their_end(gone_on: Any) -> None:
    seen = gone_on["experiments"]
    alive = {name: ended for name, ended in seen["ended"].items() if name not in DEAD}
    assert alive and {name: ended for name, ended in alive.items() if ended != ["finished", ""]} == {}
    left = seen["left"]
    assert len(left) > 10 and {name: at for name, at in left.items() if at[0] not in GOES_ON or at[1]} == {}
    assert set(seen["comparisons"].values()) == {"finished"}
    assert "pending" not in seen["clips"] and "failed" not in seen["clips"]


def test_people_go_to_their_end_and_get_their_code(gone_on: Any) -> None:
    seen = gone_on["people"]
    codes = {"thanks": "CODE-DONE", "withdrawn": "CODE-LEFT", "check_failed": "CODE-CHECK"}
    assert seen["errors"] == []
    for address, (study, state, code) in seen["ended"].items():
        wanted = codes.get(state) if study in ("Poles", "Panels", "Answers") else ""
        assert code == wanted, f"{address} of {study or 'nobody'} is at {state}"
    assert sum(state == "thanks" for _, state, _ in seen["ended"].values()) > 15


def test_votes_are_cast_and_closed(gone_on: Any) -> None:
    seen = gone_on["votes"]
    assert seen["before"] == seen["after"] and all(seen["named"])
    assert {title: status for title, (status, _, _) in seen["ended"].items()} == {
        "An open vote": "closed",
        "A vote on answers": "closed",
    }
    assert all(answer == 200 and lines > 3 for _, answer, lines in seen["ended"].values())


@pytest.mark.exhaustive
@pytest.mark.usefixtures("gone_on")
def test_experiments_of_the_other_methods_go_to_their_end(site: Site) -> None:
    seen = site.parts("left")["left"]
    assert len(seen) > 10 and {name: ended for name, ended in seen.items() if ended != ["finished", ""]} == {}


@pytest.mark.exhaustive
def test_exports_of_then_and_now_come_in_elsewhere(site: Site) -> None:
    assert site.parts("exports") == {"exports": {"statuses": ["done"], "errors": []}}
    seen = site.parts("imports", data="elsewhere")["imports"]
    assert seen == {"imports": {"study.zip": ["done", ""], "again.zip": ["done", ""]}, "failed": []}
