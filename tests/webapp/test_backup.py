"""A drill: back up a running site, kill and delete everything, restore elsewhere; a page that was open goes on."""

import shutil
import signal
import subprocess
import sys
import zipfile
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.webapp.object_storage import create_bucket
from tests.webapp.servers import ROOT, embedded, free_port, listening, production, program, static_files, wait_for
from tests.webapp.sites import BROWSER, Site

pytestmark = pytest.mark.slow

PEOPLE = """
from webapp.review import ballot
from webapp.review.screenings import find_screening
study = rows.study(k=3)
for label in ("early", "late"):
    person = rows.participant(study, label=label)
    rows.create_round(person)
    request = rows.open_judgement(person)
    out[label] = person.get_absolute_url()
    if label == "early":
        ballot.cast_vote(person, find_screening(request, person).token, ballot.Choice(best="A", worst="C"))
"""
VOTES = """
from webapp.review.models import Vote
letters = lambda vote: ["ABCDEF"[vote.screening.order.index(pk)] for pk in (vote.best_id, vote.worst_id)]
out.update({vote.screening.participant.label: letters(vote) for vote in Vote.objects.filter(undone_at=None)})
"""
NEWER_TABLE = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE newer_feature (study_id bigint REFERENCES studies_study (id))")
"""
HAS_NEWER = """
from django.db import connection
out["newer"] = "newer_feature" in connection.introspection.table_names()
"""


REFUSED = """
from django.core.management import CommandError, call_command
out["said"] = []
for words in {tries}:
    try:
        call_command("restore", *words)
    except (CommandError, SystemExit) as error:
        out["said"].append(str(error))
"""


@contextmanager
def open_site(stack):
    """The site of this stack, to run code among its rows."""
    with closing(Site("", stack.environment | {"DJANGO_SETTINGS_MODULE": "webapp.settings"})) as site:
        yield site


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """An embedded installation with people in it, to be copied, and their links."""
    stack = embedded(tmp_path_factory.mktemp("filled") / "data")
    with open_site(stack) as site:
        return stack.data, site.python(PEOPLE)


def copy_filled(filled, data):
    stack = embedded(data)
    shutil.copytree(filled[0], data, dirs_exist_ok=True)
    return stack


def manage(stack, *arguments):
    return subprocess.run(
        [sys.executable, "manage.py", *arguments], cwd=ROOT, env=stack.environment, capture_output=True, text=True
    )


def start_web(stack, port):
    static_files(stack.data)
    command = [sys.executable, "-m", "uvicorn", "webapp.asgi:application", "--port", str(port), "--lifespan", "off"]
    with (stack.data / "log" / "web.log").open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=stack.environment, stdout=log, stderr=log)
    wait_for(lambda: listening(port) or process.poll() is not None, "the start of the site")
    assert process.poll() is None
    return process


def choose(page, best, worst):
    page.keyboard.press(str("ABCDEF".index(best) + 1))
    page.keyboard.press(f"Shift+Digit{'ABCDEF'.index(worst) + 1}")


def confirm(page):
    expect(page.get_by_role("button", name="Confirm")).to_be_enabled(timeout=120_000)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Thank you, your choice is saved")).to_be_visible(timeout=120_000)


def make_place(stack, request, folder):
    """Another, empty installation of the same kind, elsewhere."""
    if stack.name == "embedded":
        return embedded(folder)
    place = production(folder, request.getfixturevalue("postgres"), request.getfixturevalue("redis"))
    return replace(place, environment=place.environment | {"PREFINE_SECRET_KEY": "another"})


def destroy(stack):
    shutil.rmtree(stack.data)
    if url := stack.environment.get("PREFINE_DATABASE_URL"):
        address, _, name = url.rpartition("/")
        subprocess.run([program("dropdb"), "--force", f"--maintenance-db={address}/postgres", name], check=True)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("stack", ["embedded", pytest.param("production", marks=pytest.mark.exhaustive)], indirect=True)
def test_a_participants_open_page_goes_on_after_everything_was_lost(stack, tmp_path, request):
    stack = replace(stack, environment=stack.environment | {"PREFINE_UNDO_SECONDS": "600"})
    with open_site(stack) as site:
        links = site.python(PEOPLE)
    port, file = free_port(), tmp_path / "kept" / "backup.zip"
    web = start_web(stack, port)
    place = make_place(stack, request, tmp_path / "elsewhere")
    place = replace(place, environment=place.environment | {"PREFINE_UNDO_SECONDS": "600"})
    with sync_playwright() as playwright, open_site(place) as site:
        browser = playwright.chromium.launch(**BROWSER)
        late = browser.new_page()
        late.goto(f"http://127.0.0.1:{port}{links['late']}")
        choose(late, "B", "C")
        said = manage(stack, "backup", str(file))
        assert said.returncode == 0, said.stderr
        assert file.stat().st_mode & 0o077 == 0 and [*file.parent.iterdir()] == [file]
        web.send_signal(signal.SIGKILL)
        web.wait()
        destroy(stack)
        site.python(NEWER_TABLE)
        said = manage(place, "restore", str(file))
        assert said.returncode == 0, said.stderr
        assert ("PREFINE_SECRET_KEY is set, to another key" in said.stdout) == (stack.name == "production")
        assert site.python(f"{VOTES}\n{HAS_NEWER}") == {"early": ["A", "C"], "newer": False}
        web = start_web(place, port)
        try:
            confirm(late)  # never reloaded
        finally:
            web.kill()
            web.wait()
            browser.close()
        assert site.python(VOTES) == {"early": ["A", "C"], "late": ["B", "C"]}


WRITE_ON = """
import pathlib, sys, time, django; django.setup()
from webapp.base.store import store
from webapp.experiments.models import Candidate, Clip
candidate, until = Candidate.objects.first(), pathlib.Path(sys.argv[1])
for percent in range(200, 20_000):
    clip = Clip(candidate=candidate, percent=percent, status=Clip.Status.READY)
    store.publish(clip.video, b"film" * 100_000)
    clip.save()
    print(percent, flush=True)
    if until.exists():
        break
"""


FOUND = """
from webapp.base.store import store
from webapp.experiments.models import Clip
out["clips"] = Clip.objects.count()
out["lost"] = [clip.video for clip in Clip.objects.all() if not store.size(clip.video)]
"""


def test_a_backup_is_whole_while_people_write(tmp_path, filled):
    """Every row's file is in the backup, though rows and files come while it is written."""
    stack, file = copy_filled(filled, tmp_path / "data"), tmp_path / "backup.zip"
    environment = stack.environment | {"DJANGO_SETTINGS_MODULE": "webapp.settings"}
    with (tmp_path / "written").open("w") as out:
        command = [sys.executable, "-c", WRITE_ON, str(file)]
        writer = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out)
    wait_for(lambda: (tmp_path / "written").stat().st_size > 100, "the first new rows")
    said = manage(stack, "backup", str(file))
    assert said.returncode == 0, said.stderr
    assert writer.wait(60) == 0
    place = embedded(tmp_path / "elsewhere")
    said = manage(place, "restore", str(file))
    assert said.returncode == 0, said.stderr
    with open_site(place) as site:
        found = site.python(FOUND)
    assert 12 < found["clips"] < len((tmp_path / "written").read_text().splitlines()) + 12 and not found["lost"]


@pytest.mark.exhaustive
def test_files_go_from_one_object_store_to_another(s3_server, tmp_path):
    files = {"clips/00000000-0000-4000-8000-000000000001.mp4": "film", "runs/a-1/job.json": "{}", "exports/x.zip": "z"}
    stack, file = embedded(tmp_path / "data"), tmp_path / "backup.zip"
    stack = replace(stack, environment=stack.environment | {"PREFINE_STORE_URL": create_bucket(s3_server)})
    publish = (
        f"from webapp.base.store import store\nfor key, text in {files}.items(): store.publish(key, text.encode())"
    )
    with open_site(stack) as site:
        site.python(publish)
    said = manage(stack, "backup", str(file))
    assert said.returncode == 0, said.stderr
    place = embedded(tmp_path / "elsewhere")
    place = replace(place, environment=place.environment | {"PREFINE_STORE_URL": create_bucket(s3_server)})
    said = manage(place, "restore", str(file))
    assert said.returncode == 0, said.stderr
    with open_site(place) as site:
        read = f"for key in {[*files]}: out[key] = store.open(key).read().decode()"
        assert site.python(f"from webapp.base.store import store\n{read}") == files


def test_what_a_restore_refuses_changes_nothing(tmp_path, filled):
    stack, file = copy_filled(filled, tmp_path / "data"), tmp_path / "backup.zip"
    assert manage(stack, "backup", str(file)).returncode == 0

    cut = tmp_path / "cut.zip"
    cut.write_bytes(file.read_bytes()[:-1000])
    bad = [cut, change(file, tmp_path / "changed.zip", "store/"), change(file, tmp_path / "newer.zip", "manifest")]
    before = (stack.data / "db.sqlite3").read_bytes()
    tries = [[str(file)], *([str(path), "--overwrite"] for path in bad)]
    with open_site(stack) as site:
        said = site.python(REFUSED.format(tries=tries))["said"]
    wanted = (
        "with 1 study, 2 participants",
        "is no backup of Prefine, or not whole",
        "another checksum",
        "newer version",
    )
    assert len(said) == len(wanted) and all(text in words for text, words in zip(wanted, said, strict=True)), said
    holder = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'a'); fcntl.flock(f, 2); print(1, flush=True); time.sleep(99)"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", holder, str(stack.data / "supervisor.lock")], stdout=subprocess.PIPE
    )
    running.stdout.readline()
    stopped = manage(stack, "restore", str(file), "--overwrite")
    assert stopped.returncode == 1 and "stop it first" in stopped.stderr, stopped
    assert (stack.data / "db.sqlite3").read_bytes() == before
    running.kill()
    running.communicate()
    said = manage(stack, "restore", str(file), "--check")
    assert said.returncode == 0 and "Every checksum is right" in said.stdout
    said = manage(stack, "restore", str(file), "--overwrite")
    assert said.returncode == 0 and "Replacing the database here" in said.stdout


def change(file, target, what):
    """A copy in which one byte of a stored file differs, or which a newer version made."""
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(target, "w") as new:
        changed = False
        for name in old.namelist():
            content = old.read(name)
            if what == "manifest" and name == "manifest.json":
                content = content.replace(b'"migrations": [', b'"migrations": ["review.9999_later",')
            elif name.startswith(what) and not changed:
                content, changed = bytes([content[0] ^ 1]) + content[1:], True
            new.writestr(name, content)
    return target


def test_a_backup_that_is_killed_or_lacks_space_leaves_no_file(tmp_path, filled):
    stack, file = copy_filled(filled, tmp_path / "data"), tmp_path / "kept" / "backup.zip"
    big = stack.data / "media" / "clips" / "00000000-0000-4000-8000-000000000000.mp4"
    with big.open("wb") as sparse:
        sparse.truncate(3 << 30)
    process = stack.python("manage.py", "backup", str(file))
    wait_for(lambda: file.parent.is_dir() and any(p.stat().st_size > 1 << 20 for p in file.parent.iterdir()), "bytes")
    process.kill()
    process.wait()
    process.stdout.close()
    assert not file.exists()
    big.unlink()
    assert manage(stack, "backup", str(file)).returncode == 0 and [*file.parent.iterdir()] == [file]
    with big.open("wb") as sparse:
        sparse.truncate(shutil.disk_usage(tmp_path).free + (1 << 30))
    said = manage(stack, "backup", str(tmp_path / "second.zip"))
    assert said.returncode == 1 and "are free in" in said.stderr
    assert not (tmp_path / "second.zip").exists()
