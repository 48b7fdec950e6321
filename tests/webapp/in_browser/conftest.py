"""One site and one browser for all files in this folder, which one process runs (tests/conftest.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from tests.webapp.sites import BROWSER, WEB_PROCESS, Site, serve
from tests.webapp.studio_people import grave

EMPTY = """
from django.db import connection
kept = ("django_content_type", "auth_permission", "auth_group", "auth_group_permissions")
names = set(connection.introspection.django_table_names(only_existing=True)) - set(kept)
with connection.constraint_checks_disabled(), connection.cursor() as cursor:
    for name in names:
        cursor.execute(f'DELETE FROM "{name}"')
"""
"""Deletes what no migration made. Numbers of rows are never given again: an open page is told of what came since."""


@pytest.fixture(scope="package")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The web process alone. A choice may be taken back for ten minutes."""
    chosen = {"PREFINE_UNDO_SECONDS": "600", "PREFINE_EMAIL_URL": "smtp://127.0.0.1:9"}
    with serve(tmp_path_factory.mktemp("site"), WEB_PROCESS, **chosen) as site:
        yield site


@pytest.fixture(scope="module")
def site(shared_site: Site) -> Site:
    """The site without rows of another file."""
    shared_site.python(EMPTY)
    return shared_site


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    browser = playwright.chromium.launch(**BROWSER)
    yield browser
    browser.close()


@pytest.fixture
def visit(chromium, site):
    """Opens an address in a browser of its own, and fails on whatever the browser complains about."""
    contexts, complaints = [], []

    def open_page(address, sockets=True, **options):
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        context.set_default_timeout(120_000)
        page = context.new_page()
        if not sockets:
            page.route_web_socket("**/ws/**", lambda socket: socket.close())
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if grave(said) else None)
        page.on("request", lambda asked: None if asked.url.startswith(site.url) else complaints.append(asked.url))
        page.goto(site.url + address)
        page.complaints, page.site = complaints, site.url
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints
