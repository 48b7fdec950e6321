"""The course of a job: at which moment it had done which fraction of its work. Work is not done at an even speed (early
films take processors from a training, bodies that lie still are simulated faster), but it is alike from job to job.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

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
    """Shares of its time, rising from 0 to 1."""
    fractions: tuple[float, ...]
    """Of its work, at these times; rising from 0 to 1."""

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
