"""The size of a participant's pages without videos and their stills, and the time until a slow line shows them, in
Chromium.

    python -m benchmarks.first_page

Each page is opened with an empty cache, five times on the slow line: the median is shown, and the quickest, which other
work on the machine disturbed least. The line is WebPageTest's "3G slow": 400 kbit/s, every answer 400 ms late.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright

from benchmarks.machine import machine
from tests.webapp.sites import BROWSER, serve

LATENCY_MS, BYTES_PER_SECOND = 400, 50_000
TIMES = 5
MAKE_ROWS = """
from webapp.studies.models import Participant
study = rows.study(demonstration=True)
out["home"] = "/"
for name in ("consent", "waiting", "review"):
    someone = rows.participant(study, label=name)
    out[name] = someone.get_absolute_url()
    rows.create_round(someone, percent=30 if name == "waiting" else 100)
    if name == "consent":
        Participant.objects.filter(pk=someone.pk).update(consented_at=None)
    if name == "waiting":
        rows.open_training(someone)
    if name == "review":
        rows.open_judgement(someone)
"""
SEEN = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
DONE = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def open_page(browser: Browser, address: str, slow: bool) -> tuple[int, int, float, float]:
    """Requests and bytes without video; milliseconds until something is seen, and until the page's scripts have run."""
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    line = page.context.new_cdp_session(page)
    line.send("Network.enable")
    if slow:
        limits = {"latency": LATENCY_MS, "downloadThroughput": BYTES_PER_SECOND, "uploadThroughput": BYTES_PER_SECOND}
        line.send("Network.emulateNetworkConditions", {"offline": False, **limits})
    video: set[str] = set()  # with its stills
    sizes: dict[str, int] = {}
    line.on(
        "Network.requestWillBeSent",
        lambda said: video.update([said["requestId"]] if "/clip/" in said["request"]["url"] else []),
    )
    line.on("Network.loadingFinished", lambda said: sizes.update({said["requestId"]: said["encodedDataLength"]}))
    page.goto(address, wait_until="domcontentloaded", timeout=120_000)
    page.wait_for_function(f"() => {SEEN}", timeout=120_000)
    seen, done = page.evaluate(SEEN), page.evaluate(DONE)
    page.wait_for_timeout(0 if slow else 1000)  # requested later
    kept = [size for request, size in sizes.items() if request not in video]
    page.context.close()
    return len(kept), sum(kept), seen, done


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_page", description=__doc__.splitlines()[0])
    parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = ["uvicorn", "webapp.asgi:application", "--lifespan", "off", "--log-level", "warning"]
        with serve(Path(folder), command) as site:
            addresses = site.python(MAKE_ROWS)
            browser = playwright.chromium.launch(**BROWSER)
            print(f"Pages with an empty cache, without video\n\n{machine('playwright')}\n")
            print("| page | requests | kB | seen, ms | seen on 3G slow, ms | quickest | scripts done on 3G slow, ms |")
            print("|---|---:|---:|---:|---:|---:|---:|")
            for name, address in addresses.items():
                open_page(browser, site.url + address, slow=False)  # the server's own first time
                count, size, seen, _ = open_page(browser, site.url + address, slow=False)
                slow = [open_page(browser, site.url + address, slow=True) for _ in range(TIMES)]
                looks = [one[2] for one in slow]
                numbers = [seen, median(looks), min(looks), median(one[3] for one in slow)]
                shown = " | ".join(f"{number:.0f}" for number in numbers)
                print(f"| {name} | {count} | {size / 1000:.0f} | {shown} |", flush=True)
            browser.close()


if __name__ == "__main__":
    main()
