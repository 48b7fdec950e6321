"""A study goes from one data folder into another, where others are already: every page and file of it comes to be the
same, the addresses of rows apart.
"""

import contextlib
import re

import pytest

from tests.webapp.second_installation import check_import
from tests.webapp.sites import create_site

pytestmark = pytest.mark.slow

MADE = """
from pathlib import Path
from tests.webapp import finished_study
from webapp.archive import export
made = finished_study.create_finished_study()
export.write_export(made.study, Path({path!r}))
"""
BROUGHT = """
from tests.webapp import finished_study, bench_rows
from webapp.archive import importer
from pathlib import Path
bench_rows.create_finished_experiment(name="somebody else's", task="Ant")
rows.create_round(rows.participant(rows.study(title="Another")))
importer.restore(Path({path!r}), "ada")
"""
READ = """
import hashlib
import re
from collections import deque
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from webapp.studies.models import Study
from webapp.votes.models import Poll
client = Client(headers={"host": "127.0.0.1"})
client.force_login(User.objects.create(username="reader", is_staff=True, is_superuser=True))
study = Study.objects.get(title="Robots that learn to walk")
own = re.compile(rf"/bench/(?:studies/{study.pk}|votes/[0-9a-f-]{{36}}|clips|[0-9a-f-]{{36}})[/.][^?#]*")
begin = [reverse("bench:study", args=[study.pk]), *(poll.get_absolute_url() for poll in Poll.objects.all())]
waiting, seen = deque(begin), set(begin)
while waiting:
    address = waiting.popleft()
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    body = b"".join(answer) if answer.streaming else answer.content
    if not answer["Content-Type"].startswith("text/"):
        text = hashlib.sha256(body).hexdigest()
    else:
        text = body.decode()
        for found in re.findall(r'(?:href|src|poster)="([^"#?]+)', text):
            if own.fullmatch(found) and found not in seen:
                seen.add(found)
                waiting.append(found)
    out[re.sub(rf"(studies/){study.pk}|(scores-)\\d+", r"\\1\\2#", address)] = text
"""
APART = (
    (r'csrfmiddlewaretoken" value="\w+"|X-CSRFToken": "\w+"', ""),
    (r'(data-(?:after|version)|id__exact|admin/\w+/\w+/|studies/|bench/data/)=?"?[0-9a-f]+"?', r"\1"),
    (r"scores-\d+", "scores"),
    (r'pill running">open|pill paused">closed', "open or closed"),
    (r"ada-the-experimenter|staff-1|sentinel_voter_id\d", ""),
    (r"(<dt>A round takes</dt><dd>)[^<]*", r"\1"),
    (r"/(v|join|s)/[\w-]{20,}/", r"/\1/"),
    (r"\n\s*(<span>imported, to look at</span>)?\n", "\n\n"),
)
"""What differs by installation: forms' secrets, keys of rows, personal links, names of staff, ids of a recruitment
site, whether it is open (what is imported is not); and how long a round takes, which is reckoned from jobs that
ended here.
"""


@pytest.mark.exhaustive
def test_every_page_and_file_comes_to_be_the_same(tmp_path_factory, tmp_path):
    path = str(tmp_path / "study.zip")
    with contextlib.closing(create_site(tmp_path_factory.mktemp("one"))) as site:
        site.python(MADE.format(path=path))
        before = site.python(READ)
    with contextlib.closing(create_site(tmp_path_factory.mktemp("two"))) as site:
        site.python(BROUGHT.format(path=path))
        after = site.python(READ)
    assert list(after) == list(before) and len(before) > 40
    assert {address.rpartition(".")[2] for address in before if "." in address} >= {"svg", "pdf", "csv", "tex", "mp4"}
    for address, text in before.items():
        assert apart(after[address]) == apart(text), address


@pytest.mark.django_db
def test_an_empty_folder_comes_to_hold_what_the_zip_says(saved_export, tmp_path_factory):
    check_import(saved_export.path, tmp_path_factory.mktemp("empty"))


def apart(text):
    for pattern, instead in APART:
        text = re.sub(pattern, instead, text)
    return text
