"""The studio's scripts come in one file for a page."""

import gzip
import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from tests.webapp import rows
from webapp.studio.scripts import BUNDLES, _shorten, find_address, read_bundle

pytestmark = pytest.mark.django_db


def test_a_page_names_its_scripts_by_two_addresses(client):
    someone = rows.participant(rows.study())
    page = client.get(someone.get_absolute_url()).content.decode()
    assert find_address("live") in page and find_address("rounds") in page
    assert not re.search(r"/static/studio/[a-z_.0-9]+\.js", page)


@pytest.mark.parametrize("bundle", BUNDLES)
def test_a_bundle_is_kept_for_good_and_that_of_an_earlier_version_is_not(bundle):
    client = Client()
    answer = client.get(find_address(bundle), HTTP_ACCEPT_ENCODING="gzip")
    assert gzip.decompress(answer.content).decode() == read_bundle(bundle) and "immutable" in answer["Cache-Control"]
    earlier = client.get(f"/scripts/{bundle}/0123456789ab.js")
    assert earlier.content.decode() == read_bundle(bundle) and earlier["Cache-Control"] == "no-cache"
    assert client.get("/scripts/other/0123456789ab.js").status_code == 404


def test_only_whole_lines_of_comments_go():
    text = '/* a\n * b */\nuse("/* c */"); // d\n  /** e */\n  /* f */ act();\n\n  go("*/");\n'
    assert _shorten(text) == 'use("/* c */"); // d\n/* f */ act();\ngo("*/");\n'


@pytest.mark.parametrize("name", sorted({name for names in BUNDLES.values() for name in names}))
def test_no_text_of_a_script_goes_over_lines(name):
    """The space at a line's beginning goes, so it must mean nothing."""
    with open(finders.find(f"studio/{name}.js")) as file:
        assert [line for line in file if line.count("`") % 2] == []
