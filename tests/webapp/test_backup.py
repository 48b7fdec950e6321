"""A drill: back up a running site, kill and delete everything, restore elsewhere; a page that was open goes on."""

import shutil
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.webapp.crash_voters import FIELD
from tests.webapp.object_storage import create_bucket
from tests.webapp.servers import ROOT, embedded, free_port, listening, production, program, static_files, wait_for
from tests.webapp.sites import BROWSER, Site
from webapp.supervisor import lock_folder

pytestmark = pytest.mark.slow

SAVED = "Thank you, your choice is saved"
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
CALL = """
import io
from django.core.management import CommandError, call_command
said = io.StringIO()
try:
    call_command(*{words}, stdout=said)
except (CommandError, SystemExit) as error:
    out["refused"] = str(error)
out["said"] = said.getvalue()
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


def call(site, *words):
    """What a command of manage.py says, in the process that also reads the rows."""
    answer = site.python(CALL.format(words=[str(word) for word in words]))
    assert "refused" not in answer, answer
    return answer["said"]


def find_refusal(site, *words):
    return site.python(CALL.format(words=[str(word) for word in words]))["refused"]


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


@contextmanager
def choose_in_browser(address):
    """A page on which a choice is made; what is yielded confirms it, without a reload."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**BROWSER)
        page = browser.new_page()
        page.goto(address)
        page.keyboard.press("2")
        page.keyboard.press("Shift+Digit3")

        def confirm():
            expect(page.get_by_role("button", name="Confirm")).to_be_enabled(timeout=120_000)
            page.keyboard.press("Enter")
            expect(page.get_by_role("heading", name=SAVED)).to_be_visible(timeout=120_000)

        yield confirm
        browser.close()


@contextmanager
def choose_in_form(address):
    """The same as a browser without scripts has it: with its cookies and the fields that came with the page."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    form = dict(FIELD.findall(browser.open(address).read().decode()))

    def confirm():
        sent = urllib.parse.urlencode({**form, "best": "B", "worst": "C"}).encode()
        assert SAVED in browser.open(f"{address}vote/", sent).read().decode()

    yield confirm


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
@pytest.mark.parametrize(
    ("stack", "choose"),
    [
        ("embedded", choose_in_form),
        pytest.param("production", choose_in_browser, marks=pytest.mark.exhaustive),
    ],
    indirect=["stack"],
)
def test_a_participants_open_page_goes_on_after_everything_was_lost(stack, choose, tmp_path, request):
    stack = replace(stack, environment=stack.environment | {"PREFINE_UNDO_SECONDS": "600"})
    port, file = free_port(), tmp_path / "kept" / "backup.zip"
    place = make_place(stack, request, tmp_path / "elsewhere")
    place = replace(place, environment=place.environment | {"PREFINE_UNDO_SECONDS": "600"})
    with open_site(stack) as lost, open_site(place) as site:
        links = lost.python(PEOPLE)
        web = start_web(stack, port)
        with choose(f"http://127.0.0.1:{port}{links['late']}") as confirm:
            call(lost, "backup", file)
            assert file.stat().st_mode & 0o077 == 0 and [*file.parent.iterdir()] == [file]
            web.send_signal(signal.SIGKILL)
            web.wait()
            destroy(stack)
            site.python(NEWER_TABLE)
            said = call(site, "restore", file)
            assert ("PREFINE_SECRET_KEY is set, to another key" in said) == (stack.name == "production")
            assert site.python(f"{VOTES}\n{HAS_NEWER}") == {"early": ["A", "C"], "newer": False}
            web = start_web(place, port)
            try:
                confirm()
            finally:
                web.kill()
                web.wait()
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
    with open_site(embedded(tmp_path / "elsewhere")) as site:
        call(site, "restore", file)
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
        call(site, "backup", file)
    place = embedded(tmp_path / "elsewhere")
    place = replace(place, environment=place.environment | {"PREFINE_STORE_URL": create_bucket(s3_server)})
    with open_site(place) as site:
        call(site, "restore", file)
        read = f"for key in {[*files]}: out[key] = store.open(key).read().decode()"
        assert site.python(f"from webapp.base.store import store\n{read}") == files


def test_what_a_restore_refuses_changes_nothing(tmp_path, filled):
    stack, file = copy_filled(filled, tmp_path / "data"), tmp_path / "backup.zip"
    with open_site(stack) as site:
        call(site, "backup", file)
        cut = tmp_path / "cut.zip"
        cut.write_bytes(file.read_bytes()[:-1000])
        before = (stack.data / "db.sqlite3").read_bytes()
        assert "with 1 study, 2 participants" in find_refusal(site, "restore", file)
        for bad, text in (
            (cut, "is no backup of Prefine, or not whole"),
            (change(file, tmp_path / "changed.zip", "store/"), "another checksum"),
            (change(file, tmp_path / "newer.zip", "manifest"), "newer version"),
        ):
            assert text in find_refusal(site, "restore", bad, "--overwrite")
        with lock_folder(stack.data):  # as while Prefine runs
            assert "stop it first" in find_refusal(site, "restore", file, "--overwrite")
        assert (stack.data / "db.sqlite3").read_bytes() == before
        assert "Every checksum is right" in call(site, "restore", file, "--check")
        assert "Replacing the database here" in call(site, "restore", file, "--overwrite")


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
    with open_site(stack) as site:
        call(site, "backup", file)
        assert [*file.parent.iterdir()] == [file]
        with big.open("wb") as sparse:
            sparse.truncate(shutil.disk_usage(tmp_path).free + (1 << 30))
        assert "are free in" in find_refusal(site, "backup", tmp_path / "second.zip")
    assert not (tmp_path / "second.zip").exists()
