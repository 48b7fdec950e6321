"""How far apart six clips on a review page run, in a real Chromium: measured on the frames that are shown.

    python -m benchmarks.sync [--seconds 20]

`requestVideoFrameCallback` tells the time of each frame that reaches the screen. Sampled at every repaint; samples at
the loop's seam, where clips have ended or begin, are left out.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from benchmarks.machine import machine
from tests.webapp.sites import BROWSER, serve

FPS = 30
SEAM_SECONDS = 0.3
MAKE_ROWS = f"""
rows.FPS = {FPS}
person = rows.participant()
rows.create_round(person)
rows.open_judgement(person)
out["address"] = person.get_absolute_url()
"""
READY = "() => [...document.querySelectorAll('.tile video')].every((video) => video.currentTime > 0.5)"
MEASURE = """(seconds) => new Promise((done) => {
    const videos = [...document.querySelectorAll('.tile video')], shown = videos.map(() => null), samples = [];
    videos.forEach((video, index) => {
        const note = (now, frame) => { shown[index] = frame.mediaTime; video.requestVideoFrameCallback(note); };
        video.requestVideoFrameCallback(note);
    });
    const end = performance.now() + 1000 * seconds;
    const sample = () => {
        if (!shown.includes(null)) samples.push([...shown]);
        performance.now() < end ? requestAnimationFrame(sample) : done([samples, videos[0].duration]);
    };
    requestAnimationFrame(sample);
})"""


def spread(browser: Browser, address: str, seconds: float, slowdown: int) -> np.ndarray:
    """Frames between the first and the last of the clips, at every repaint away from the seam. Shape (samples,)."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(120_000)
    page.goto(address)
    page.wait_for_function(READY)
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
    samples, duration = page.evaluate(MEASURE, seconds)
    page.context.close()
    times = np.array(samples)
    amid = (times.min(1) > SEAM_SECONDS) & (times.max(1) < duration - SEAM_SECONDS)
    return (times.max(1) - times.min(1))[amid] * FPS


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sync", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = ["uvicorn", "webapp.asgi:application", "--lifespan", "off", "--log-level", "warning"]
        with serve(Path(folder), command) as site:
            address = site.url + site.python(MAKE_ROWS)["address"]
            browser = playwright.chromium.launch(**BROWSER)
            print(f"Six clips at {FPS} frames/s: frames between first and last\n\n{machine('playwright')}\n")
            print("| processor | samples | median | 95% | 99% | most |\n|---|---:|---:|---:|---:|---:|")
            for slowdown in (1, 4):
                apart = spread(browser, address, seconds, slowdown)
                numbers = " | ".join(f"{number:.1f}" for number in [*np.percentile(apart, [50, 95, 99]), apart.max()])
                print(f"| {'as it is' if slowdown == 1 else f'{slowdown} times slower'} | {len(apart)} | {numbers} |")
            browser.close()


if __name__ == "__main__":
    main()
