"""How long the sessions of a training take in which rewards are learned, and will take."""

from __future__ import annotations

from collections import deque

LATEST = 3
"""Sessions that the next ones are taken to be like: the passes over the labels change as a policy learns."""


class SessionClock:
    """What sessions took in this process."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """Of all sessions."""
        self._latest: deque[tuple[float, int]] = deque(maxlen=LATEST)
        """(seconds, labels that were learned from) of the latest ones."""

    def add(self, seconds: float, labels: int) -> None:
        """Count a session, and the labels that it learned from; 0 where none was due."""
        self.seconds += seconds
        if labels:
            self._latest.append((seconds, labels))

    def estimate(self, labels: int) -> float | None:
        """Seconds of the sessions ahead, which learn from this number of labels in all; None before one was held."""
        if not labels:
            return 0.0
        if not self._latest:
            return None
        return labels * sum(seconds for seconds, _ in self._latest) / sum(learned for _, learned in self._latest)
