"""Have the vision model answer the pairs of a session; then the training goes on with its answers (RL-VLM-F)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import imageio_ffmpeg

from llm import methods, writer
from llm.backend import Reply
from llm.judges import vision_pairs
from llm.records import Ask
from webapp.base.store import store
from webapp.experiments import loop, pair_sessions
from webapp.experiments.execute import frames
from webapp.experiments.execute.ask import NO_VISION, VISION
from webapp.experiments.execute.model_calls import build_saver, open_budgeted_backend, read_saved_replies
from webapp.experiments.execute.writing_progress import WritingProgress
from webapp.experiments.leases import Lease
from webapp.experiments.models import Experiment, PairSession, Request, Segment, SegmentPair

MOST_SEEDS = 1000
"""Seeds between two pairs: more than a question is asked again."""


PutQuestion = Callable[..., tuple[str, str]]
"""Called with an Ask and its pictures; the model's words, or what went wrong."""


def answer_pairs(lease: Lease) -> None:
    """Ask about every pair that has no answer yet; each answer is saved as it comes."""
    experiment, request = lease.job.experiment, lease.job.request
    assert request is not None
    session = request.pair_sessions.get(number=lease.job.percent)
    if experiment.vision is None:
        lease.fail(NO_VISION)
        return
    left, error = list(session.pairs.filter(answer="").select_related("first", "second")), ""
    with lease.beat_in_background() as stop_check:
        put_question = build_asker(lease, request, 2 * len(left), stop_check)
        for pair in left:
            answer, error = ask_about(put_question, experiment, session, pair)
            if error:
                break
            with lease.lock_experiment():
                SegmentPair.objects.filter(pk=pair.pk).update(answer=answer)
    if error:
        lease.fail(f"The vision model answers no pairs: {error}")
        return
    with lease.settle() as locked:
        pair_sessions.end_session(locked, session)


def ask_about(
    put_question: PutQuestion, experiment: Experiment, session: PairSession, pair: SegmentPair
) -> tuple[str, str]:
    """The answer about a pair (llm.records.ANSWERS), or what went wrong. Without pictures nothing can be said of it."""
    seed = loop.derive_seed(session.request) + MOST_SEEDS * (1000 * session.number + pair.number)
    swapped, description = vision_pairs.is_swapped(seed), loop.describe_task(experiment).description
    shown = [read_pictures(experiment, segment) for segment in (pair.first, pair.second)]
    if not all(shown):
        return pair_sessions.SKIPPED, ""
    first, second = shown[::-1] if swapped else shown
    question = vision_pairs.ask_analysis(description, len(first), len(second), seed)
    said, error = put_question(question, (*first, *second))
    if error:
        return "", error
    label, error = put_question(vision_pairs.ask_preference(description, said, seed))
    return ("", error) if error else (vision_pairs.read_preference(label, swapped), "")


def build_asker(lease: Lease, request: Request, count: int, stop_check: Callable[[], None]) -> PutQuestion:
    """A function that puts about `count` questions to the vision model; what was paid for before is not asked again."""
    progress = WritingProgress(lease, stop_check, request, count)
    backend = open_budgeted_backend(lease, VISION, progress)
    saver, begin = progress.wrap_saver(build_saver(lease)), loop.derive_seed(request)
    saved = defaultdict[int, list[Reply]](list)
    """By pair, as each has its own seeds: a training may have thousands of answers."""
    for reply in read_saved_replies(request):
        saved[(reply.seed - begin) // MOST_SEEDS].append(reply)

    def put_question(question: Ask, images: tuple[str, ...] = ()) -> tuple[str, str]:
        earlier = saved[(question.seed - begin) // MOST_SEEDS]
        reply = writer.ask(backend, question, earlier, saver, images, bool, stop_check, progress)
        return reply.text, reply.error

    return put_question


def read_pictures(experiment: Experiment, segment: Segment) -> tuple[str, ...]:
    """Evenly spaced pictures of a segment's film; none if it cannot be read."""
    count = int(methods.get_method(experiment.method).value_of("pictures", experiment.options))
    try:
        with store.as_file(segment.video) as film:
            return tuple(frames.extract_frames(film, measure_seconds(film), count))
    except (ValueError, FileNotFoundError):
        return ()


def measure_seconds(film: Path) -> float:
    """How long a film lasts. Raises ValueError if it cannot be read."""
    try:
        return max(float(imageio_ffmpeg.count_frames_and_secs(str(film))[1]), 1e-3)
    except RuntimeError as error:
        raise ValueError(f"the film cannot be read: {error}") from error
