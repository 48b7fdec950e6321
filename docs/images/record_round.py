"""Record a real round as an animated picture for the README.

    .venv/bin/python -m docs.images.record_round [--task Ant] [--out docs/images/round.gif]

The site, its workers and the offline writer run under the supervisor; Chromium shows what a participant sees. Videos
are stepped to exact times, so that the picture is smooth on a slow machine; waiting is shown faster than it was.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path

import imageio_ffmpeg
from playwright.sync_api import Page, expect, sync_playwright

from tests.webapp.sites import BROWSER, Site, serve

WIDTH, HEIGHT = 960, 920
SHOWN_WIDTH = 720
FRAMES_PER_SECOND = 8
COLOURS = 96
MOST_BYTES = 3_000_000
PATIENCE_MS = 1_800_000
NEXT_SECONDS = 60
"""Seconds of the next round that are shown."""
HELD_FRAMES = 3
"""Frames that a picture of the waiting stays, so that one can read it."""
BEST_SECOND = 3.0
"""The second at which the videos begin; a robot that learned nothing has fallen by then."""
MAKE_ROWS = """
study = rows.study(title="Robots that learn to walk", task="{task}", k=6, n=3, seed=4, practice=False)
out["page"] = rows.participant(study, consented=False).get_absolute_url()
"""
PICKED = """
from webapp.experiments.models import Candidate
from webapp.review.models import Screening
order = Screening.objects.latest("opened_at").order
score = dict(Candidate.objects.filter(pk__in=order).values_list("pk", "final_score"))
ranked = sorted(order, key=lambda pk: score[pk] if score[pk] is not None else float("-inf"))
out["best"], out["worst"] = ("ABCDEF"[order.index(pk)] for pk in (ranked[-1], ranked[0]))
"""
STEADY = "[...document.querySelectorAll('.tile video')].every((video) => !video.seeking && video.readyState >= 2)"
POINTER = """() => {
  const pointer = document.createElement('div');
  Object.assign(pointer.style, {position: 'fixed', zIndex: 99, width: '18px', height: '18px', borderRadius: '50%',
    margin: '-9px 0 0 -9px', background: 'rgb(61 79 196 / 55%)', border: '2px solid white', pointerEvents: 'none'});
  document.body.append(pointer);
  document.addEventListener('mousemove', (event) => {
    pointer.style.left = `${event.clientX}px`; pointer.style.top = `${event.clientY}px`;
  });
}"""


class Recorder:
    """Numbered pictures of the page; `second` is where the videos are."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.numbers = count()
        self.second = BEST_SECOND

    def shot(self) -> None:
        """One frame."""
        self.page.screenshot(path=self.folder / f"{next(self.numbers):04}.png")

    def still(self, seconds: float) -> None:
        """Hold the page for this long."""
        for _ in range(round(seconds * FRAMES_PER_SECOND)):
            self.shot()

    def show_wait(self, until: str, most: int, seconds: float = math.inf) -> None:
        """Take a picture every second, until this selector appears or for this long, and show `most` of those on which
        the page says different things.
        """
        kept: dict[str, bytes] = {}
        ends = time.monotonic() + seconds
        while not self.page.locator(until).count() and time.monotonic() < ends:
            kept.setdefault(self.page.locator("body").inner_text(), self.page.screenshot())
            self.page.wait_for_timeout(1000)
        shown = min(most, len(kept))
        for place in range(shown):
            picture = list(kept.values())[place * len(kept) // shown]
            for _ in range(HELD_FRAMES):
                (self.folder / f"{next(self.numbers):04}.png").write_bytes(picture)

    def play_videos(self, seconds: float) -> None:
        """The videos run on for this long."""
        for _ in range(round(seconds * FRAMES_PER_SECOND)):
            self.second += 1 / FRAMES_PER_SECOND
            self.page.get_by_role("slider", name="Time").fill(f"{self.second:.3f}")
            self.page.wait_for_function(f"() => {STEADY}")
            self.shot()

    def press(self, selector: str, after: float) -> None:
        """Move to the element, press it, and let the videos run."""
        box = self.page.locator(selector).bounding_box()
        if box is None:
            raise SystemExit(f"{selector} is not on the page")
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.play_videos(3 / FRAMES_PER_SECOND)
        self.page.locator(selector).click()
        self.play_videos(after)


def record(site: Site, page: Page, folder: Path, task: str) -> None:
    """One round, from a person's consent to the beginning of the next round."""
    page.goto(site.url + site.python(MAKE_ROWS.format(task=task))["page"])
    recorder = Recorder(page, folder)
    page.get_by_role("checkbox").check()
    recorder.still(1)
    page.get_by_role("button", name="Agree and begin").click()
    ready = page.get_by_role("button", name="I am ready")
    expect(ready).to_be_visible()
    recorder.still(1)
    ready.click()
    recorder.show_wait("#ballot", most=10)
    page.wait_for_function("() => document.querySelectorAll('.tile.is-watched').length === 6", timeout=PATIENCE_MS)
    page.locator("[data-do=play]").click()  # a pause
    page.evaluate(POINTER)
    picked = site.python(PICKED)
    recorder.play_videos(2.5)
    recorder.press(f"#clip-{picked['best']} .pick.best", after=0.8)
    recorder.press(f"#clip-{picked['worst']} .pick.worst", after=0.8)
    recorder.press(".confirm .button", after=0)
    expect(page.get_by_role("heading", name="Thank you, your choice is saved")).to_be_visible()
    recorder.still(1.2)
    page.wait_for_selector(".waiting")
    recorder.show_wait("#ballot", most=5, seconds=NEXT_SECONDS)
    recorder.still(1)


def assemble(folder: Path, out: Path) -> None:
    """One palette for all frames; each frame stores only what changed."""
    palette = f"split[a][b];[a]palettegen=max_colors={COLOURS}:stats_mode=diff[p]"
    filters = f"scale={SHOWN_WIDTH}:-1:flags=lanczos,{palette};[b][p]paletteuse=dither=none:diff_mode=rectangle"
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", "-framerate", str(FRAMES_PER_SECOND)]
    subprocess.run([*command, "-i", str(folder / "%04d.png"), "-filter_complex", filters, str(out)], check=True)


def main() -> None:
    """Record, assemble, and print the size."""
    parser = argparse.ArgumentParser(prog="python -m docs.images.record_round", description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="Ant")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("round.gif"))
    parser.add_argument("--frames", type=Path, help="keep the frames in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as data, tempfile.TemporaryDirectory() as temporary:
        folder = arguments.frames or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        with (
            serve(Path(data), ["webapp.supervisor"], PREFINE_UNDO_SECONDS="2") as site,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(**BROWSER)
            page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
            page.set_default_timeout(PATIENCE_MS)
            record(site, page, folder, arguments.task)
            browser.close()
        assemble(folder, arguments.out)
    size = arguments.out.stat().st_size
    print(f"{arguments.out}: {size / 1e6:.2f} MB")
    if size > MOST_BYTES:
        raise SystemExit(f"larger than {MOST_BYTES / 1e6:g} MB: fewer colours, frames or pixels are needed")


if __name__ == "__main__":
    main()
