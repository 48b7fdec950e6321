"""How long after an answer the next pair of videos is on screen, in a real Chromium, on lines of several speeds.

    python -m benchmarks.next_pair [--pairs 40] [--pace 3] [--task Ant]

A simulated person answers by a key every so many seconds. Three figures: what the page says itself, from its handling
of the key to the repaint with which the two videos begin (`data-swap`); the browser's, from the key to what it painted
next (Event Timing, in steps of 8 ms; a pair that is not loaded by then is not in that picture); and until both videos
have given a frame to the screen since they were started (`requestVideoFrameCallback`), so that they move. The films are
real ones, of a robot that moves at random.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from benchmarks.filming import random_rollout
from benchmarks.machine import machine
from simulation import catalog
from simulation.film import RATE, encode
from simulation.renderer import RolloutRenderer
from tests.webapp.sites import BROWSER, WEB_PROCESS, serve

SECONDS, TARGET_MS = 2, 100
CONDITIONS = (
    ("this machine", None, 1),
    ("4 Mbit/s, 80 ms", (500_000, 80), 1),
    ("1.6 Mbit/s, 150 ms", (200_000, 150), 1),
    ("this machine, a processor 4 times slower", None, 4),
)
"""What the line is called, its bytes a second and delay in ms, and how much slower the browser's processor is."""
MAKE_ROWS = """
person = rows.participant(rows.study(task=TASK, method="prefppo", k=1, n=1))
made = rows.open_pairs(person, pairs=PAIRS)
out["address"] = person.get_absolute_url()
out["films"] = [[segment.video, segment.poster] for segment in made.segments.all()]
"""
READY = "() => !document.querySelector('[data-answer=left]').disabled"
WATCH = """() => {
    const root = document.getElementById("pairs"), keys = [], said = [], moved = [], painted = {};
    window.swaps = () => keys.map((key, index) => [said[index], painted[key] ?? 16, moved[index]])
        .filter(([one, , other]) => one !== undefined && other !== undefined);
    new MutationObserver(() => said.push(Number(root.dataset.swap))).observe(root, { attributeFilter: ["data-swap"] });
    new PerformanceObserver((list) => {
        for (const { startTime, duration } of list.getEntriesByName("keydown")) painted[startTime] = duration;
    }).observe({ type: "event", durationThreshold: 16 });
    addEventListener("keydown", ({ timeStamp }) => {  // after the page's own listener
        const place = keys.push(timeStamp) - 1, videos = [...root.querySelectorAll(".deck:not([aria-hidden]) video")];
        const given = (video) => new Promise((done) =>
            video.requestVideoFrameCallback((_, frame) => done(frame.expectedDisplayTime)));
        Promise.all(videos.map(given)).then((times) => { moved[place] = Math.max(...times) - timeStamp; });
    });
}"""


def film_segments(task: str, folder: Path) -> list[tuple[bytes, bytes]]:
    """Films and stills of the parts of one clip."""
    count = round(catalog.get_task(task).clip_seconds * RATE)
    renderer, found = RolloutRenderer(task), []
    frames = [frame.copy() for frame in renderer.frames(random_rollout(task), count, RATE)]
    renderer.close()
    for begin in range(0, count - SECONDS * RATE + 1, SECONDS * RATE):
        encode(iter(frames[begin : begin + SECONDS * RATE]), folder / "part.mp4", folder / "part.jpg")
        found.append(((folder / "part.mp4").read_bytes(), (folder / "part.jpg").read_bytes()))
    return found


def measure_swaps(
    browser: Browser, address: str, answers: int, pace: float, line: tuple[int, int] | None, slowdown: int
) -> np.ndarray:
    """Milliseconds from each key to the next pair (answers, 3): by the page, the browser's paints, moving frames."""
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
    page.evaluate(WATCH)
    for number in range(answers):
        page.wait_for_timeout(1000 * pace)
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(f"() => window.swaps().length > {number}")
    found = page.evaluate("() => window.swaps()")
    page.context.close()
    return np.array(found)


def summarise(times: np.ndarray) -> str:
    """A cell of the table."""
    numbers = [*np.percentile(times, [50, 95]), times.max()]
    return ", ".join([*(f"{number:.0f}" for number in numbers), f"{(times <= TARGET_MS).mean():.0%}"])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.next_pair", description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40, help="at most 40: then the page proposes a rest")
    parser.add_argument("--pace", type=float, default=3.0, help="seconds from a pair to its answer")
    parser.add_argument("--task", default="Ant")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        films = film_segments(asked.task, Path(folder))
        with serve(Path(folder), WEB_PROCESS) as site:
            browser = playwright.chromium.launch(**BROWSER)
            weight = np.mean([len(film) + len(still) for film, still in films]) / 1000
            print(f"{asked.task}, {machine('playwright')}\n\nFrom a key to the next pair on screen, milliseconds.")
            print(f"An answer every {asked.pace:g} s; a video of {SECONDS} s and its still weigh {weight:.0f} kB.\n")
            print("Median, 95%, longest, share within 100 ms.\n")
            print("| condition | swaps | by the page | painted | moving |\n|---|---:|---:|---:|---:|")
            for name, line, slowdown in CONDITIONS:
                made = site.python(f"TASK, PAIRS = {asked.task!r}, {asked.pairs}\n{MAKE_ROWS}")
                for files, contents in zip(made["films"], itertools.cycle(films)):
                    for file, content in zip(files, contents, strict=True):
                        Path(folder, "media", file).write_bytes(content)
                address = site.url + made["address"]
                found = measure_swaps(browser, address, asked.pairs - 1, asked.pace, line, slowdown)
                print(f"| {name} | {len(found)} | {' | '.join(map(summarise, found.T))} |", flush=True)
            browser.close()


if __name__ == "__main__":
    main()
