"""Hold the sessions that are due in a training: what is asked and what was answered are files in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from simulation.catalog import TaskInfo
from trainer.learner import Learner
from trainer.preferences import exchange, query_files
from trainer.preferences.learning import PreferenceTraining
from trainer.preferences.session_figures import write_sessions


@dataclass(frozen=True)
class SessionFiles:
    """Where the candidates in training have their files."""

    job_dir: Path
    indices: Sequence[int]
    """The number of each in its job."""
    info: TaskInfo
    nq: int
    """Positions in a pose."""


def hold_due_sessions(preferences: PreferenceTraining, learner: Learner, iteration: int, files: SessionFiles) -> int:
    """Hold the sessions that are due, unless answers from outside are missing; how many labels they learned from."""
    answers, asked_outside = {}, preferences.list_asked_outside()
    for group, (query, segments) in asked_outside.items():
        asked, index = query_files.describe(query, segments), files.indices[group]
        given = exchange.read_answers(files.job_dir, index, asked)
        if given is None:
            query_files.write(files.job_dir, index, files.info, files.nq, asked, segments)
        else:
            answers[group] = [*exchange.read_earlier_answers(files.job_dir, index, asked.session), given]
    if len(answers) < len(asked_outside):
        return 0
    held = preferences.hold_sessions(learner, iteration, answers)
    for group in held:
        index = files.indices[group]
        if group in preferences.answered:
            with suppress(ValueError):  # a pose that is not finite cannot be filmed
                query_files.write(files.job_dir, index, files.info, files.nq, *preferences.answered[group])
        write_sessions(files.job_dir, index, preferences.sessions_of(group))
    return preferences.count_labels(held)
