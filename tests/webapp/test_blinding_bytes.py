"""A classifier that gets everything a browser receives, pixels aside, cannot tell A from B better than chance.

Received are: the page, the names in it and their order, and of every clip and still the status, all headers, lengths
of the whole and of a range, and (in the exhaustive tests) the time that the answer took. Half of the pairs train a
logistic regression, the other half is guessed. Lengths in the coded pictures themselves (an MP4's table of frames)
count as pixels.
"""

from __future__ import annotations

import random
import secrets
import time
import uuid

import numpy as np
import pytest
import scipy
from django.test import Client
from django.urls import reverse

from tests.webapp import poll_rows, rows
from webapp.experiments.models import Candidate
from webapp.review import padding
from webapp.review.screenings import find_screening, make_tiles
from webapp.votes.models import Showing

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
EVALUATORS, PARTICIPANTS = 80, 28
ALPHA = 0.001
MILLISECONDS = 20
"""To this, times are rounded: a browser over a network sees no more."""
TIMED = pytest.mark.parametrize("timed", [False, pytest.param(True, marks=pytest.mark.exhaustive)])


@pytest.fixture(autouse=True)
def the_same_draws_every_time(monkeypatch):
    drawn = random.Random(20261120)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    monkeypatch.setattr(secrets, "randbits", drawn.getrandbits)
    monkeypatch.setattr(secrets, "token_urlsafe", lambda size=32: "".join(drawn.choices(letters, k=size * 4 // 3)))
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=drawn.getrandbits(128), version=4))


def features_of(browser: Client, html: str, addresses: list[str], timed: bool) -> list[float]:
    """Numbers about one clip as received: where the page names it, and what its addresses answer."""
    found: list[float] = []
    for address in addresses:
        found += [html.find(address), html.count(address), *(ord(letter) for letter in address[-8:])]
        for method, headers in (("head", {}), ("get", {"Range": "bytes=0-99"})):
            began = time.perf_counter()
            response = getattr(browser, method)(address, headers=headers)
            took = 1000 * (time.perf_counter() - began) if timed else 0.0
            sent = "".join(f"{name}: {value}\n" for name, value in sorted(response.headers.items()))
            length = response.headers.get("Content-Range", "0").rpartition("/")[2]
            found += [response.status_code, len(sent), sum(map(ord, sent)), int(length), took // MILLISECONDS]
            found += [int(response.headers.get("Content-Length", 0))]
    return found


def accuracy(features: list[list[float]], labels: list[bool]) -> tuple[int, int]:
    """How many of the second half a logistic regression guesses that was fitted to the first, and of how many."""
    x, y = np.array(features), np.where(labels, 1.0, -1.0)
    half = len(y) // 2
    x = (x - x[:half].mean(0)) / np.where(x[:half].std(0) > 0, x[:half].std(0), 1)
    x = np.hstack([x, np.ones((len(y), 1))])

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        margin = y[:half] * (x[:half] @ w)
        slope = -y[:half] / (1 + np.exp(np.clip(margin, -50, 50)))
        return np.logaddexp(0, -margin).sum() + 0.5 * w @ w, x[:half].T @ slope + w

    fitted = scipy.optimize.minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x
    guessed = np.sign(x[half:] @ fitted) == y[half:]
    return int(guessed.sum()), len(guessed)


def told_apart(right: int, of: int) -> bool:
    return scipy.stats.binomtest(right, of, 0.5, alternative="greater").pvalue < ALPHA


def seen_by_evaluators(timed: bool) -> tuple[list[list[float]], list[bool]]:
    """For every evaluator: what was received of the left clip, less of the right one; whether A was on the left."""
    poll, browser, features, labels = poll_rows.poll(evaluators_wanted=EVALUATORS), Client(), [], []
    for _ in range(EVALUATORS):
        person = poll_rows.evaluator(poll)
        html = browser.get(person.get_absolute_url()).content.decode()
        showing = Showing.objects.get(evaluator=person)
        sides = []
        for token in (showing.left_token, showing.right_token):
            addresses = [reverse("pair_clip", args=[token]), reverse("pair_poster", args=[token])]
            sides.append(np.array(features_of(browser, html, addresses, timed)))
        features.append([len(html), *(sides[0] - sides[1])])
        labels.append(showing.first_left)
    return features, labels


def seen_by_participants(timed: bool = False) -> tuple[list[list[float]], list[bool]]:
    """For neighbouring clips on every participant's page: what was received of one less the other; which is better."""
    study, browser, features, labels = rows.study(), Client(), [], []
    for number in range(PARTICIPANTS):
        person = rows.participant(study, label=f"P{number}")
        rows.create_round(person)
        screening = find_screening(rows.open_judgement(person), person)
        html = browser.get(person.get_absolute_url()).content.decode()
        shown = [
            np.array(features_of(browser, html, [tile.video, tile.poster], timed)) for tile in make_tiles(screening)
        ]
        scores = [Candidate.objects.get(pk=pk).rts or 0.0 for pk in screening.order]
        for first in (0, 2, 4):
            features.append([len(html), *(shown[first] - shown[first + 1])])
            labels.append(scores[first] > scores[first + 1])
    return features, labels


@TIMED
def test_evaluators_are_sent_nothing_that_tells_a_from_b(timed):
    features, labels = seen_by_evaluators(timed)
    right, of = accuracy(features, labels)
    assert of == EVALUATORS // 2 and not told_apart(right, of), f"{right} of {of} guessed"


@TIMED
def test_participants_are_sent_nothing_that_tells_the_better_clip(timed):
    features, labels = seen_by_participants(timed)
    right, of = accuracy(features, labels)
    assert of == 3 * PARTICIPANTS // 2 and not told_apart(right, of), f"{right} of {of} guessed"


def test_the_classifier_finds_clips_by_their_length(monkeypatch):
    """Without the padding it would know, so that it is no accident that it does not. Here, each candidate's film is a
    little longer than that of the one before, as when its robot moves more.
    """
    drawn = rows._film

    def lengthen(hue: int, seconds: float) -> tuple[bytes, bytes]:
        film, still = drawn(hue, seconds)
        return film + (8 + 100 * hue).to_bytes(4, "big") + b"free" + bytes(100 * hue), still

    monkeypatch.setattr(rows, "_film", lengthen)
    monkeypatch.setattr(padding, "compute_sizes", lambda clips: (0, 0))
    features, labels = seen_by_participants()
    right, of = accuracy(features, labels)
    assert told_apart(right, of), f"{right} of {of} guessed"
