"""The course of a job: at which moment it had done which fraction of its work. Work is not done at an even speed (early
films take processors from a training, bodies that lie still are simulated faster), but it is alike from job to job.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

TRUSTED_FRACTION = 1 / 2
"""From this fraction of a job on, its own speed alone tells when it ends; before, earlier jobs count, too."""
LEAST_SHARE = 0.75
"""A job that has run for its usual time, but is not done, still needs this share of the usual time of its rest."""
LEAST_STEP = 0.04
"""Progress of less than this is not noted."""
Point = list[float]
"""[seconds since the job began, fraction of its work]"""


def note_progress(course: Sequence[Point], seconds: float, fraction: float) -> list[Point]:
    """The course with this point, if the job has got further since the last one."""
    last = course[-1][1] if course else 0.0
    further = fraction - last >= LEAST_STEP or fraction >= 1.0 > last
    return [*course, [round(seconds, 1), round(fraction, 3)]] if further else list(course)


@dataclass(frozen=True)
class Course:
    """The course of a finished job."""

    times: tuple[float, ...]
    """Shares of the job's time, rising from 0 to 1."""
    fractions: tuple[float, ...]
    """The fractions of the work done at these times, rising from 0 to 1."""

    def find_times(self, fraction: float) -> tuple[float, float]:
        """The shares of its time at which it reached this fraction, and at which it was next seen further."""
        after = bisect_right(self.fractions, fraction)
        until = self.times[after] if after < len(self.times) else 1.0
        at = bisect_left(self.fractions, fraction)
        if at == 0 or self.fractions[at] == fraction:
            return self.times[at], until
        begun, ended = self.fractions[at - 1], self.fractions[at]
        share = (fraction - begun) / (ended - begun)
        return self.times[at - 1] + share * (self.times[at] - self.times[at - 1]), until


def read_course(points: Sequence[Point], seconds: float) -> Course | None:
    """The course of a job that took these seconds; None where nothing was noted."""
    if not points or seconds <= 0:
        return None
    noted = [(min(1.0, at / seconds), fraction) for at, fraction in points if fraction < 1.0]
    full = [min(1.0, at / seconds) for at, fraction in points if fraction >= 1.0]
    rising = [(0.0, 0.0), *noted, (full[0] if full else 1.0, 1.0)]
    return Course(tuple(at for at, _ in rising), tuple(fraction for _, fraction in rising))


def find_usual_times(courses: Sequence[Course], fraction: float) -> tuple[float, float]:
    """The medians over these jobs; the fraction itself where there are none."""
    if not courses:
        return fraction, fraction
    found = [course.find_times(fraction) for course in courses]
    return statistics.median(first for first, _ in found), statistics.median(last for _, last in found)


def follow_own_pace(took: float, fraction: float, course: Sequence[Point]) -> float | None:
    """Seconds left of a job that goes on at its mean pace since its first noted progress: its latest speed, which
    workers report, may be that of a moment.
    """
    begun, done = course[0] if course else (0.0, 0.0)
    return (took - begun) / (fraction - done) * (1 - fraction) if fraction > done else None


def follow_known_course(took: float, fraction: float, courses: Sequence[Course]) -> float | None:
    """Seconds left of a job that goes like these, which took another time on another machine."""
    over = sum(find_usual_times(courses, fraction)) / 2
    return took * (1 - over) / over if over else None


def count_rest(took: float, over: float, expected: float) -> float:
    """Seconds left of a job of which this share of its usual time should be over."""
    return max(expected - took, LEAST_SHARE * expected * (1 - over))


def follow_courses(took: float, fraction: float, expected: float, courses: Sequence[Course]) -> float:
    """Seconds left of a job that goes like earlier ones. Its own pace counts more and more until half of it is over."""
    first, last = find_usual_times(courses, fraction)
    over = min(max(took / expected, first), last)
    pace = took / (over * expected) if over else 1.0
    expected *= 1 + min(1.0, over / TRUSTED_FRACTION) * (pace - 1)
    return count_rest(took, min(over, (first + last) / 2), expected)
