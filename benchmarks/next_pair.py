"""How long after an answer the next pair of videos is on screen, in a real Chromium, on lines of several speeds.

    python -m benchmarks.next_pair [--pairs 40] [--pace 3]

A simulated person answers by a key every so many seconds. A pair is on screen when both its videos have given a frame
to the screen (`requestVideoFrameCallback`). Target: 100 ms.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from benchmarks.machine import machine
from tests.webapp.sites import BROWSER, Site, serve

FPS, SECONDS = 30, 3
MAKE_ROWS = f"""
rows.FPS = {FPS}
from webapp.base.store import store
person = rows.participant(rows.study(task="Cartpole", method="prefppo", k=1, n=1))
made = rows.open_pairs(person, pairs=PAIRS)
out["address"] = person.get_absolute_url()
out["bytes"] = [store.size(segment.video) for segment in made.segments.all()]
"""
CONDITIONS = (
    ("this machine", None, 1),
    ("4 Mbit/s, 80 ms", (500_000, 80), 1),
    ("1.6 Mbit/s, 150 ms", (200_000, 150), 1),
    ("this machine, a processor 4 times slower", None, 4),
)
"""What the line is called, its bytes a second and delay in ms, and how much slower the browser's processor is."""
SHOWN = "[...document.querySelectorAll('.deck:not([aria-hidden]) video')]"
READY = "() => !document.querySelector('[data-answer=left]').disabled"
MEASURE = f"""() => new Promise((done) => {{
    const before = {SHOWN}[0];
    addEventListener("keydown", () => {{
        const pressed = performance.now();
        const look = () => {{
            const videos = {SHOWN};
            if (!videos.length || videos[0] === before) return requestAnimationFrame(look);
            Promise.all(videos.map((video) => new Promise((seen) => video.requestVideoFrameCallback(seen))))
                .then((times) => done(Math.max(...times) - pressed));
        }};
        requestAnimationFrame(look);
    }}, {{ once: true }});
    window.armed = true;
}})"""


def measure_swaps(
    browser: Browser, address: str, pace: float, line: tuple[int, int] | None, slowdown: int
) -> list[float]:
    """Answer every pair; milliseconds from each key to the next pair's frames."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(120_000)
    session = page.context.new_cdp_session(page)
    if line:
        speed, delay = line
        session.send("Network.enable")
        limits = {"latency": delay, "downloadThroughput": speed, "uploadThroughput": speed}
        session.send("Network.emulateNetworkConditions", {"offline": False, **limits})
    page.goto(address)
    page.wait_for_function(READY)
    session.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
    found: list[float] = []
    while page.locator(".deck").count() > 1:
        page.wait_for_timeout(1000 * pace)
        page.evaluate(f"() => {{ window.swap = ({MEASURE})(); }}")
        page.keyboard.press("ArrowLeft")
        found.append(page.evaluate("() => window.swap"))
        page.wait_for_function(READY)
    page.context.close()
    return found


def make_pairs(site: Site, pairs: int) -> dict[str, Any]:
    return site.python(f"PAIRS = {pairs}\n{MAKE_ROWS}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.next_pair", description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40, help="at most 40: then the page proposes a rest")
    parser.add_argument("--pace", type=float, default=3.0, help="seconds from a pair to its answer")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = ["uvicorn", "webapp.asgi:application", "--lifespan", "off", "--log-level", "warning"]
        with serve(Path(folder), command) as site:
            browser = playwright.chromium.launch(**BROWSER)
            print(f"From a key to the next pair on screen, milliseconds\n\n{machine('playwright')}\n")
            print("| condition | answers | median | 95% | longest | over 100 ms |\n|---|---:|---:|---:|---:|---:|")
            for name, line, slowdown in CONDITIONS:
                made = make_pairs(site, asked.pairs)
                times = np.array(measure_swaps(browser, f"{site.url}{made['address']}", asked.pace, line, slowdown))
                numbers = " | ".join(f"{number:.0f}" for number in [*np.percentile(times, [50, 95]), times.max()])
                print(f"| {name} | {len(times)} | {numbers} | {int((times > 100).sum())} |", flush=True)
            weight = np.mean(made["bytes"]) / 1000
            print(f"\nA video of {SECONDS} s weighs {weight:.0f} kB; an answer every {asked.pace:g} s.")
            browser.close()


if __name__ == "__main__":
    main()
