"""The registry of judges. A new judge is a file here, a line below and a function in llm/judges/."""

from __future__ import annotations

from webapp.experiments.judge import Judge
from webapp.experiments.judges import human, model, proxy

JUDGES: dict[str, Judge] = {judge.name: judge for judge in (human.JUDGE, proxy.JUDGE, model.JUDGE)}
"""By the name that rows keep."""
CHOICES = [(judge.name, judge.title) for judge in JUDGES.values()]
CHOICES_WITHOUT_PEOPLE = [(judge.name, judge.title) for judge in JUDGES.values() if not judge.asks_people]
"""For comparisons, and experiments outside a study."""
ASKING_PEOPLE = tuple(judge.name for judge in JUDGES.values() if judge.asks_people)
IN_STUDIES, WITHOUT_PEOPLE = human.JUDGE.name, proxy.JUDGE.name
"""Defaults."""
