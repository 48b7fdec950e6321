"""Fixtures of tests in a browser. Playwright is loaded when one is asked for: most tests need none."""

import pytest


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    from tests.webapp.sites import BROWSER

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**BROWSER)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, site):
    """Opens an address in a browser of its own, and fails on whatever the browser complains about."""
    from tests.webapp.studio_people import grave

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
