"""Static files under ASGI: whole, in part, or only their headers; never streamed from a plain file."""

import pytest
from django.test import RequestFactory
from whitenoise.responders import StaticFile

from webapp.base.static_files import StaticFiles


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.css"
    path.write_bytes(b"0123456789")
    return StaticFile(str(path), [("Content-Type", "text/css")])


@pytest.mark.parametrize(
    ("asked", "status", "content"),
    [({}, 200, b"0123456789"), ({"Range": "bytes=2-4"}, 206, b"234"), ({"If-None-Match": '"x"'}, 200, b"0123456789")],
)
def test_a_file_is_answered_whole_or_in_part(file, asked, status, content):
    answer = StaticFiles.serve(file, RequestFactory().get("/static/a.css", headers=asked))
    assert not answer.streaming
    assert (answer.status_code, answer.content, answer["Content-Type"]) == (status, content, "text/css")
    assert answer["Content-Length"] == str(len(content))


def test_who_has_it_already_or_asks_for_headers_gets_no_content(file):
    head = StaticFiles.serve(file, RequestFactory().head("/static/a.css"))
    assert (head.status_code, head.content, head["Content-Length"]) == (200, b"", "10")
    known = RequestFactory().get("/static/a.css", headers={"If-Modified-Since": head["Last-Modified"]})
    answer = StaticFiles.serve(file, known)
    assert (answer.status_code, answer.content, "Content-Type" in answer) == (304, b"", False)
