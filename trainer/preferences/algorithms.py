"""What a training that learns from pairs is asked for, one record a candidate. Imports neither torch nor mujoco."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from simulation.catalog import AnyPreset, TaskInfo

SESSIONS = {49: 7, 150: 10, 1500: 15, 15_000: 30}
"""Labels in all -> the sessions in which they are asked for."""
FEW_ANSWERS = 100
ASKED_UNTIL = 0.5
"""Share of the training by which the last planned session is held; then the policy alone learns on."""
TRUTHS = ("reward", "metric")
"""What a teacher compares: sums of the human-written reward, or of the hidden metric."""
SELECTIONS = ("uniform", "disagreement", "entropy", "k-center", "disagreement+k-center", "entropy+k-center")
"""How queries are selected from the second session on (`trainer.preferences.queries`)."""


@dataclass(frozen=True)
class Method:
    """A published algorithm that learns from pairs."""

    name: str
    title: str
    algorithm: str
    """ppo or sac."""
    selection: str
    """How its queries are selected as a rule."""
    last_episodes: int | None
    """Queries are about this many of the last episodes; None: about any."""
    most_epochs: int
    """Passes over the labels in a session, at most."""
    scaled: bool
    """Whether the learned reward is divided by its running deviation; SAC scales returns itself."""
    unlabelled: int = 0
    """Pairs without answers, for each label, that the reward model learns from with its own answers
    (`count_unlabelled`).
    """
    crops: int = 0
    """Crops of each labelled pair that the reward model learns from in place of the pair; 0: from the pair itself."""
    hybrid: float = 0.0
    """Share of the policy's minibatches that comes from the last episodes alone, once a reward is learned."""
    least_epochs: int = 1
    """Passes over the labels in a session, at least."""
    denoised: bool = False
    """Whether labels that lie far from the model's prediction are left out or turned round."""
    warm_start: bool = False
    """Whether the reward model learns the intrinsic reward first, and the critics go on from it."""


METHODS = {
    method.name: method
    for method in (
        Method("prefppo", "PrefPPO (B-Pref, 2021)", "ppo", "disagreement", None, 100, scaled=True),
        Method("pebble", "PEBBLE (2021)", "sac", "disagreement", 100, 50, scaled=False),
        Method("surf", "SURF (2022)", "sac", "disagreement", 100, 50, scaled=False, unlabelled=10),
        Method("qpa", "QPA (2024)", "sac", "uniform", 10, 200, scaled=False, crops=20, hybrid=0.5),
        Method(
            "rime",
            "RIME (2024)",
            "sac",
            "disagreement",
            100,
            50,
            scaled=False,
            least_epochs=15,
            denoised=True,
            warm_start=True,
        ),
        Method("rl_vlm_f", "RL-VLM-F (2024)", "sac", "uniform", 100, 50, scaled=False),
    )
}


def count_unlabelled(method: Method, budget: int) -> int:
    """Pairs without answers for each label: ten times as many where answers are few, as in SURF's scripts."""
    return method.unlabelled * (10 if budget <= FEW_ANSWERS else 1)


def warn_of_late_metric(info: TaskInfo, truth: str, segment: int) -> str:
    """What to know of a teacher that compares parts of episodes by a metric known only at their end; else empty."""
    if truth != "metric" or not info.metric_at_end or not 0 < segment < info.episode_steps:
        return ""
    return (
        f"The metric of {info.name} is known only where an episode ends. A teacher that compares it is asked about the "
        "last segments of episodes alone, and judges each by what its whole episode was worth. Have it compare the "
        "summed human-written reward (truth = reward), or whole episodes (segment = 0)."
    )


@dataclass(frozen=True)
class Preferences:
    """How one candidate's policy learns from answers about pairs. Without `prior` the candidate's reward function does
    not train it: where `truth` is reward, it is what the simulated teacher compares.
    """

    method: str = "prefppo"
    budget: int = 49
    """Answers in all. Skipped pairs are none; those that are equal are."""
    truth: str = "reward"
    """reward or metric: what the teacher compares, summed over a segment."""
    segment: int = 50
    """Control steps of a segment; 0: whole episodes."""
    selection: str = ""
    """How queries are selected; empty: as the method does."""
    unsupervised: float = 0.02
    """Share of the training in which the policy explores by particle entropy before the first session."""
    beta: float = -1.0
    """The teacher's rationality; below 0 it never errs by itself."""
    gamma: float = 1.0
    """Its myopia: below 1, late steps count more than early ones."""
    mistake: float = 0.0
    """Probability that an answer is turned round."""
    skip: float = 0.0
    """Pairs whose better one is worth less than this share of the recent mean are skipped."""
    equal: float = 0.0
    """Differences below this share of the recent mean are not seen."""
    prior: bool = False
    """The candidate's reward function is part of what its policy learns: learned reward = function + model
    (`trainer.preferences.prior`). A teacher then compares the metric.
    """
    outside: bool = False
    """Answers come from files (`trainer.preferences.exchange`), for which the training stops at each session; else the
    simulated teacher gives them.
    """

    @property
    def sessions(self) -> int:
        """The number of sessions that ask for the budget."""
        known = [sessions for budget, sessions in SESSIONS.items() if budget <= self.budget]
        return min(self.budget, max(known, default=min(SESSIONS.values())))

    @property
    def pairs(self) -> int:
        """Pairs of a session in which nothing has been skipped before."""
        return -(-self.budget // self.sessions)

    def count_pairs(self, number: int, left: int) -> int:
        """Pairs of a session, from 0, where `left` answers of the budget are missing. What was skipped before is shared
        out over the planned sessions that are left: another session costs people another wait.
        """
        planned = self.sessions - number
        return min(left, max(self.pairs, -(-left // planned)) if planned > 0 else self.pairs)

    def count_labels_ahead(self, held: int, labels: int) -> int:
        """The labels of each planned session after `held`, summed: it learns from all that are there by then."""
        total = 0
        for number in range(held, self.sessions):
            labels += self.count_pairs(number, self.budget - labels)
            total += labels
        return total

    def session_iteration(self, number: int, iterations: int) -> int:
        """After how many iterations of the training a session, from 0, is held at the earliest. Sessions beyond the
        planned ones, which ask for what was skipped, keep their distance.
        """
        first = self.unsupervised_iterations(iterations)
        return first + round(number * max(0.0, ASKED_UNTIL * iterations - first) / self.sessions)

    def unsupervised_iterations(self, iterations: int) -> int:
        """Iterations before the first session, at least one."""
        return max(1, round(self.unsupervised * iterations))


def count_segment_steps(seconds: float, info: TaskInfo) -> int:
    """Control steps of a segment of this many seconds; 0, which means a whole episode, for 0 seconds."""
    return max(1, round(seconds / info.control_dt)) if seconds else 0


def require_sound(preferences: Preferences, info: TaskInfo, preset: AnyPreset) -> None:
    """Check that these preferences can be learned from here. Raises ValueError, saying what is wrong."""
    if preferences.method not in METHODS:
        raise ValueError(f"unknown preference method {preferences.method!r}; known: {', '.join(METHODS)}")
    method = METHODS[preferences.method]
    if method.algorithm != preset.algorithm:
        raise ValueError(f"{method.title} trains with {method.algorithm.upper()}: choose a preset of it")
    if preferences.selection not in ("", *SELECTIONS):
        raise ValueError(f"unknown selection {preferences.selection!r}; known: {', '.join(SELECTIONS)}")
    if preferences.truth not in TRUTHS:
        raise ValueError(f"unknown truth {preferences.truth!r}; known: {', '.join(TRUTHS)}")
    if preferences.truth == "metric" and info.metric is None:
        raise ValueError(f"{info.name} has no metric that a teacher could compare")
    if preferences.prior and not preferences.outside and preferences.truth != "metric":
        raise ValueError("the reward function is part of what is learned: the teacher must compare the metric")
    numbers = (preferences.budget - 1, preferences.segment, preferences.skip, preferences.equal)
    shares = (preferences.unsupervised, preferences.mistake)
    if min(numbers) < 0 or not all(0 <= share <= 1 for share in shares) or not 0 < preferences.gamma <= 1:
        raise ValueError(f"numbers out of bounds in {preferences}")


def derive_seed(what: str, seed: int, number: int = 0) -> int:
    """A seed for one purpose that follows from a candidate's seed, and from nothing else."""
    return int.from_bytes(hashlib.sha256(f"{what} {seed} {number}".encode()).digest()[:6])
