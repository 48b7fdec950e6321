"""The administrator in a real browser: python -m tests.deployment.administrator ADDRESS STATE PASSWORD

Prints the rows of the page of workers, in small letters, as JSON. The first time it signs in and sets up an
authenticator app, as the site demands; the file STATE keeps it signed in.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import time
from pathlib import Path

from django_otp.oath import TOTP
from playwright.sync_api import Page, expect, sync_playwright

from tests.webapp.sites import BROWSER, PATIENCE


def sign_in(page: Page, password: str) -> None:
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    key = page.locator(".qr code").inner_text().replace(" ", "")
    app = TOTP(base64.b32decode(key + "=" * (-len(key) % 8)))
    app.time = time.time()
    page.get_by_label("Code").fill(f"{app.token():06d}")
    page.get_by_role("button", name="Turn it on").click()
    expect(page.get_by_text("Write these recovery codes down now")).to_be_visible()


def read_workers(address: str, state: Path, password: str) -> list[str]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**BROWSER)
        kept = {"storage_state": state} if state.exists() else {}
        context = browser.new_context(ignore_https_errors=True, **kept)  # Caddy's own authority; the test checks it
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(f"{address}/bench/workers/")
        if not kept:
            sign_in(page, password)
            context.storage_state(path=state)
            page.goto(f"{address}/bench/workers/")
        expect(page.get_by_role("heading", name="Workers", exact=True)).to_be_visible()
        shown = page.locator("#workers tbody tr").all_inner_texts()
        rows = [re.sub(r"\s+", " ", row).strip().lower() for row in shown]
        browser.close()
    return rows


if __name__ == "__main__":
    print(json.dumps(read_workers(sys.argv[1], Path(sys.argv[2]), sys.argv[3])))
