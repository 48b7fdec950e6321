"""A language model judges by code and traces or by answers; with the option `frames`, a vision model by pictures."""

from __future__ import annotations

from llm.judges import model
from webapp.experiments.judge import Judge, Options


def count_frames(options: Options) -> int:
    return int(options.get(model.FRAMES, 0))


JUDGE = Judge(
    name="model",
    title="A language model",
    label="A language model",
    next_step="then has a language model pick",
    options=model.OPTIONS,
    count_frames=count_frames,
)
