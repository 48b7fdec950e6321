"""Errors between a method and a model. Each message says what to do about it."""

from __future__ import annotations


class MethodError(Exception):
    """A method cannot go on, e.g. no candidate of an iteration could be trained."""


class ReplayMismatch(Exception):
    """The saved requests are not the ones that this method, version and seed would make."""


class JudgeError(Exception):
    """A judge cannot decide, e.g. the proxy judge on a task without a metric."""


class PromptError(Exception):
    """A prompt file and the values given for it do not fit together."""


class ModelError(Exception):
    """A model endpoint failed. `permanent`: asking again without changing something cannot help."""

    permanent = False


class Unauthorized(ModelError):
    """The endpoint refuses the API key."""

    permanent = True


class UnknownModel(ModelError):
    """The endpoint does not have this model, or its address is wrong."""

    permanent = True


class BadRequest(ModelError):
    """The endpoint refuses the request itself."""

    permanent = True


class TooLong(BadRequest):
    """The prompt is longer than the model has room for. `room`: its context in tokens, 0 where unknown."""

    def __init__(self, message: str, room: int = 0) -> None:
        super().__init__(message)
        self.room = room


class BudgetSpent(ModelError):
    """The experiment may not buy another answer."""

    permanent = True


class RateLimited(ModelError):
    """Too many requests, or the account's quota is used up."""


class ServerFailed(ModelError):
    """The endpoint failed: status 500 or above, or an error in the middle of an answer."""


class TimedOut(ModelError):
    """The endpoint was silent for too long."""


class Unreachable(ModelError):
    """No connection to the endpoint."""


class BadAnswer(ModelError):
    """The endpoint answered 200 with something that is not a chat completion."""


class BrokenOff(ModelError):
    """The answer ended in the middle."""


def explain_missing_score(candidate: str, instead: str) -> str:
    """The message about a trained candidate without a task score; `instead`: advice for a task that has none."""
    return (
        f"candidate {candidate} has no task score: its task has no metric ({instead}), or its training ended before "
        "anything was counted (train longer)"
    )
