"""The estimate behind `panel.bradley_terry`, in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def estimate(
    players: int, games: Sequence[tuple[int, int, float, float]], prior: float
) -> tuple[np.ndarray, np.ndarray]:
    """Strengths and their standard errors, each (players,), from games (winner, loser, weight, share).

    Raises ValueError without a prior where no finite estimate exists.
    """
    wins = np.zeros((2, players, players))  # wins[0, i, j]: how often i beat j; wins[1]: over their shares
    for winner, loser, weight, share in games:
        wins[:, winner, loser] += weight, weight / share
    if not prior and not _is_connected(wins[0]):
        raise ValueError("somebody always wins, always loses or met none of the others: give a prior above 0")
    strengths = _fit(wins[0], prior)
    inverse = np.linalg.pinv(
        _compute_information(wins[0], prior, strengths)
    )  # without a prior: under "strengths sum to zero"
    centred = (np.eye(players) - 1.0 / max(players, 1)) @ inverse
    errors = np.sqrt(np.diag(centred @ _compute_information(wins[1], prior, strengths) @ centred.T))
    return strengths, errors


def _fit(wins: np.ndarray, prior: float) -> np.ndarray:
    """Newton's method on the log-likelihood, which is concave: strengths (n,)."""
    strengths = np.zeros(len(wins))
    for _ in range(200):
        expected = 1.0 / (1.0 + np.exp(strengths[None, :] - strengths[:, None]))  # P(i beats j)
        against = 1.0 / (1.0 + np.exp(-strengths))  # P(i beats the player of strength 0)
        # dL/db_i = sum_j (w_ij - n_ij p_ij) + prior (1/2 - p_i0)
        gradient = (wins - (wins + wins.T) * expected).sum(axis=1) + prior * (0.5 - against)
        information = _compute_information(wins, prior, strengths)
        step = np.linalg.solve(information, gradient) if prior else np.linalg.pinv(information) @ gradient
        strengths = strengths + np.clip(step, -2.0, 2.0)
        if np.abs(step).max(initial=0.0) < 1e-12:
            break
    return strengths


def _compute_information(wins: np.ndarray, prior: float, strengths: np.ndarray) -> np.ndarray:
    """Fisher information (n, n) at these strengths: minus the second derivatives of the log-likelihood."""
    expected = 1.0 / (1.0 + np.exp(strengths[None, :] - strengths[:, None]))
    against = 1.0 / (1.0 + np.exp(-strengths))
    spread = (wins + wins.T) * expected * (1.0 - expected)
    information: np.ndarray = np.diag(spread.sum(axis=1) + prior * against * (1.0 - against)) - spread
    return information


def _is_connected(wins: np.ndarray) -> bool:
    """Whether everybody beat everybody else through some chain (Ford's condition for a finite estimate)."""
    reach = (wins > 0) | np.eye(len(wins), dtype=bool)
    for _ in range(len(wins)):
        reach = reach @ reach
    return bool(reach.all())
