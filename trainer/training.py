"""A shard: some of a job's candidates, trained in one simulation, in this process (trainer.lockstep).

Everything that a continuation needs is in the shard's checkpoint, so that a run that was killed ends exactly as if it
had not been.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from simulation import catalog
from simulation.backends import choice
from simulation.backends.interface import StartPhysics
from simulation.environment import Environment
from simulation.noise import SharedNoise
from simulation.rewards.contract import compile_reward
from simulation.rewards.parsing import Refused
from trainer import checkpoint, memory
from trainer.calls import CallMark
from trainer.candidate import EPISODE_LENGTH, LEARNED_REWARD, Candidate
from trainer.collect import Collector, Horizon
from trainer.evaluation import evaluate_policy
from trainer.learner import has_mixed_precision, make_learner
from trainer.log_lines import say
from trainer.preferences.due_sessions import SessionFiles, hold_due_sessions
from trainer.preferences.learning import PreferenceTraining
from trainer.preferences.query_files import count_recorded_worlds
from trainer.preferences.session_clock import SessionClock
from trainer.records import (
    FINAL,
    WARM,
    Progress,
    TrainJob,
    TrainResult,
    fingerprint_job,
    get_rollout_path,
    read_dropped,
    shard_folder,
    write_json,
)
from trainer.rollouts import record_rollouts
from trainer.saved_preset import is_of_this_job, read_preset
from trainer.scoring import Scorer
from trainer.traces import Series, write_table

CHECKPOINT_SECONDS = 2.0
"""Between two checkpoints; at least CHECKPOINT_SHARE times as long as writing one takes."""
CHECKPOINT_SHARE = 50
PROGRESS_SECONDS = 0.5
MAX_DIVERGED = 0.5
"""Of a horizon's steps; where the physics fails more often, nothing can be learned."""
REWARD_SECONDS = 10.0
"""Processor time that all calls of one reward may take in any case; usual ones take less in a whole training. Beyond
it, they may take as long as the rest of the candidate's training.
"""
FOREIGN_PHYSICS = "bridge:isaacgym"
"""Policies are evaluated in MuJoCo, where those of another engine would not be at home."""


class Lockstep:
    """One shard: candidates FIRST to LAST - 1 of a job, trained in one simulation."""

    def __init__(self, job_dir: Path, job: TrainJob, first: int, last: int, threads: int, device: str = "cpu") -> None:
        self.job_dir, self.job = job_dir, job
        self.folder = shard_folder(job_dir, first, last)
        self.info, self.preset = catalog.get_task(job.task), read_preset(job_dir, job)
        self.candidates = [Candidate(index) for index in range(first, last)]
        self.active = list(self.candidates)
        self.iteration = 0
        self.seconds = 0.0
        self._threads, self._device = threads, device
        self._env: Environment | None = None
        self._preferences: PreferenceTraining | None = None
        """What candidates that learn from pairs need, where there are any."""
        self._session_clock = SessionClock()
        self._start: StartPhysics | None = None
        """The engine once it is started: a locked process can build new worlds with it, but start no other engine."""
        self._fingerprinted = fingerprint_job(job, self.preset, device)
        self._mark = CallMark(self.folder)
        self._begun = self._reported_at = self._clock = time.monotonic()
        self._save_at = self._clock + CHECKPOINT_SECONDS

    def open(self) -> None:
        """Start the engine with worlds for all candidates: as many as fit.

        On the CPU `prepare` does that. Elsewhere it must come before the process is locked: it opens devices, loads
        drivers, compiles kernels and starts workers.
        """
        self._start = start = self._start or choice.find_engine(self._device, self.info.folder)
        on = torch.device(choice.get_tensor_device(self._device))

        def start_environment() -> Environment:
            count = len(self.candidates)
            seeds = [self.job.seed_of(c.index) for c in self.candidates]
            return Environment(self.info.name, self.preset.worlds, count, seeds, self._threads, on, start)

        self._env = memory.retry_halved(start_environment, self._halve)

    def prepare(self) -> None:
        """Compile the rewards, continue from a checkpoint of this job or begin.

        Raises ValueError when a checkpoint cannot be used here, and BridgeError when the engine's worker is lost.
        """
        saved = checkpoint.load(self.folder / "checkpoint.pt")
        if saved is not None and is_of_this_job(saved["job"], self._fingerprinted, self.job):
            self.candidates = [Candidate.from_state(state) for state in saved["candidates"]]
            self.iteration, self.seconds = saved["iteration"], saved["seconds"]
            self._set_worlds(saved.get("worlds", self.preset.worlds))
        else:
            saved = None
            self._give_up_dropped()
        scorers = {c.index: self._compile(c) for c in self.candidates if not c.reason}
        self.active = [c for c in self.candidates if not c.reason]
        if not self.active:
            return
        if self._env is None or self._env.worlds != self.preset.worlds:
            self.open()
        env = self._env
        assert env is not None
        if saved is None and len(self.active) < len(self.candidates):
            env.keep([group for group, candidate in enumerate(self.candidates) if not candidate.reason])
        shared = self.job.shared_experience
        wanted = [self.job.preferences_of(c.index) for c in self.active]
        filmed = count_recorded_worlds(wanted, self.preset)
        self.collector = Collector(env, [scorers[c.index] for c in self.active], shared, filmed)
        mixed = has_mixed_precision(env.device)
        seeds = [self.job.seed_of(c.index) for c in self.active]
        self._noise = SharedNoise(seeds)
        self.learner = make_learner(self.info, self.preset, seeds, mixed, env.device, shared)
        self._preferences = None
        if any(wanted):
            pose_size = env.poses(torch.zeros(1, dtype=torch.int64, device=env.device)).shape[1] if filmed else 0
            self._preferences = PreferenceTraining(self.info, self.preset, wanted, seeds, env.device, pose_size)
        if saved is not None:
            env.load_state_dict(saved["env"])
            self.collector.ages = saved["ages"].to(env.device)
            self.learner.load_state_dict(saved["learner"])
            self._noise.load_state_dict(saved["noise"])
            if self._preferences is not None:
                self._preferences.load_state_dict(saved["preferences"])
                self.collector.filmed_worlds = filmed if self._preferences.keeps_poses else 0
        elif self.job.warm:
            policy = checkpoint.load_policy(self.job_dir / WARM, self.info.name)
            self.learner.start_from(policy.networks, policy.observations)
        self._give_up_dropped()
        self._drop_failed()

    def _give_up_dropped(self) -> None:
        """Fail the candidates without which the coordinator wants this shard to go on."""
        dropped = read_dropped(self.folder)
        for candidate in self.candidates:
            if candidate.index in dropped and not candidate.reason:
                candidate.reason = f"{dropped[candidate.index]} (after {candidate.samples} samples)"

    def train(self) -> TrainResult | None:
        """Train to the end of the budget, or until cancelled or no candidate is left. None: it waits for answers, and
        goes on when it is started again.
        """
        self._write_progress("training")
        self._begun = time.monotonic()
        while self.active and (self._asks or self.iteration < self.preset.iterations):
            if (self.job_dir / "cancel").exists():
                self._cancel()
                break
            if self._asks:
                self._hold_sessions()
            else:
                self._iterate()
            if self._asks:
                self._stop_to_wait()
                return None
            filmed = self._film()
            self._report_and_save(save=filmed)
        for group, candidate in enumerate(self.active):
            path = self.job_dir / "checkpoints" / "policies" / f"{candidate.index}.pt"
            policy, seed = self.learner.policy_state(group), self.job.seed_of(candidate.index)
            checkpoint.save_policy(path, policy, task=self.info.name, preset=self.job.preset, seed=seed)
            if self.job.episodes and not self._device.startswith(FOREIGN_PHYSICS):
                candidate.evaluation = evaluate_policy(path, self.job.episodes)
        for candidate in self.candidates:
            table = self.job_dir / "traces" / f"{candidate.index}.csv"
            metric = candidate.read_metric(self.info, self.preset)
            write_table(table, metric, candidate.series, self.preset.iterations, self.preset.samples)
        self._write_progress("done")
        return self._result()

    def _halve(self) -> bool:
        """Go on with half as many worlds and twice the horizon, which keeps the samples of an iteration."""
        if self.preset.worlds < 2 or self.iteration:
            return False
        self._set_worlds(self.preset.worlds // 2)
        now = f"going on with {self.preset.worlds} and a horizon of {self.preset.horizon} steps"
        say(f"{2 * self.preset.worlds} worlds a candidate do not fit into memory: {now}")
        return True

    def _set_worlds(self, worlds: int) -> None:
        """Train with this many worlds a candidate, and a horizon that keeps the samples of an iteration."""
        horizon = self.preset.horizon * self.preset.worlds // worlds
        self.preset = replace(self.preset, worlds=worlds, horizon=horizon)

    def _begin_smaller(self) -> bool:
        """Build everything again with half the worlds, before anything was learned."""
        if not self._halve():
            return False
        self._env = None
        del self.collector, self.learner
        self.prepare()
        return True

    def _iterate(self) -> None:
        horizon = memory.retry_halved(self._collect_and_update, self._begin_smaller)
        self._trace(horizon)
        for candidate, finite in zip(self.active, self.learner.find_finite().tolist(), strict=True):
            if not finite and not candidate.reason:
                candidate.reason = "training diverged: the policy's parameters became infinite or not a number"
        self.iteration += 1
        self._drop_failed()
        if self.active and self._preferences is not None:
            self._preferences.ask(self.iteration)
            self._hold_sessions()

    @property
    def _asks(self) -> bool:
        """Whether sessions are due that were not held, since answers are missing."""
        return self._preferences is not None and self._preferences.asks

    def _hold_sessions(self) -> None:
        """Hold the sessions that are due, unless answers from outside are missing."""
        assert self._preferences is not None
        files = SessionFiles(self.job_dir, [c.index for c in self.active], self.info, self.collector.env.model.nq)
        began = time.monotonic()
        labels = hold_due_sessions(self._preferences, self.learner, self.iteration, files)
        self._session_clock.add(time.monotonic() - began, labels)

    def _stop_to_wait(self) -> None:
        """Save everything that a continuation with answers needs."""
        self.seconds += time.monotonic() - self._clock
        self._save()
        self._write_progress("waiting")

    def _collect_and_update(self) -> Horizon:
        noise = self._noise.normal(self.preset.horizon, self.preset.worlds, self.info.num_actions)
        horizon = self.collector.collect(self.learner, noise.to(self.learner.device))
        experience = horizon.experience
        if self.job.by_metric:
            experience = replace(experience, rewards=torch.where(horizon.step_counts, horizon.step_metric, 0.0))
        if self._preferences is not None:
            rewards, newest = self._preferences.rewards(horizon), self._preferences.find_newest(self.iteration)
            experience = replace(experience, rewards=rewards, newest=newest)
        # Dropping what failed before the update would need slices of the experience. It changes nothing for the others:
        # they do not see it, or, with shared experience, learn from where it was under rewards of their own.
        self.learner.update(experience, self._noise)
        return horizon

    def _trace(self, horizon: Horizon) -> None:
        count = self.preset.horizon * self.preset.worlds
        scored = zip(self.active, horizon.scores, self.collector.scorers, strict=True)
        for group, (candidate, score, scorer) in enumerate(scored):
            candidate.samples += count
            diverged = int(horizon.diverged[group])
            candidate.nan_worlds += diverged
            reason = score.reason or candidate.describe_change(score.sums) or self._explain_slowness(scorer.seconds)
            if diverged > MAX_DIVERGED * count:
                reason = f"the simulation diverged in {diverged} of {count} steps: {self.info.name}'s model is unstable"
            if reason:
                candidate.reason = f"{reason} (after {candidate.samples} samples)"
                continue
            for name, total in score.sums.items():
                candidate.series.setdefault(name, Series()).add(total, count)
            lengths = candidate.series.setdefault(EPISODE_LENGTH, Series())
            lengths.add(int(horizon.episode_steps[group]), int(horizon.episodes[group]))
            candidate.metric.add(float(horizon.metric[group]), int(horizon.metric_counts[group]))
            if self._preferences is not None and group in self._preferences.sums:
                candidate.series.setdefault(LEARNED_REWARD, Series()).add(*self._preferences.sums[group])

    def _explain_slowness(self, seconds: float) -> str:
        """What is wrong if a reward's calls have taken so long that they slow the others' training."""
        rest = (time.monotonic() - self._begun - seconds) / len(self.active)
        if seconds <= max(REWARD_SECONDS, rest):
            return ""
        return f"limits: its calls took {seconds:.0f} s of processor time, the rest of its training {rest:.0f} s"

    def _drop_failed(self) -> None:
        groups = [group for group, candidate in enumerate(self.active) if not candidate.reason]
        if len(groups) == len(self.active):
            return
        for candidate in self.active:
            if candidate.reason:
                say(f"candidate {candidate.index} failed", candidate.reason)
        self.active = [self.active[group] for group in groups]
        if self.active:
            self.collector.keep(groups)
            self.learner.keep(groups)
            self._noise.keep(groups)
            if self._preferences is not None:
                self._preferences.keep(groups)

    def _film(self) -> bool:
        """Record the rollouts that are due; whether there were any."""
        filmed = False
        for percent in self.job.film_at:
            due = self.iteration >= max(1, round(self.preset.iterations * percent / 100))
            waiting = [c for c in self.active if percent not in c.rollouts]
            if not due or not waiting:
                continue
            for number in range(1, self.job.rollouts + 1 if percent == FINAL else 2):
                paths = [get_rollout_path(self.job_dir, c.index, percent, number) for c in waiting]
                scorers = self.collector.scorers if percent == FINAL else ()
                record_rollouts(self.info, self.learner, paths, number, scorers)
            for candidate in waiting:
                candidate.rollouts.append(percent)
            filmed = True
        return filmed

    def _report_and_save(self, save: bool) -> None:
        now = time.monotonic()
        self.seconds += now - self._clock
        self._clock = now
        if now - self._reported_at >= PROGRESS_SECONDS:
            self._write_progress("training")
        if save or now >= self._save_at:
            self._save()
            done = time.monotonic()
            self._save_at = done + max(CHECKPOINT_SECONDS, CHECKPOINT_SHARE * (done - now))

    def _save(self) -> None:
        state: dict[str, Any] = {
            "job": self._fingerprinted,
            "worlds": self.preset.worlds,
            "candidates": [candidate.state_dict() for candidate in self.candidates],
            "iteration": self.iteration,
            "seconds": self.seconds,
        }
        if self.active:
            state |= {
                "env": self.collector.env.state_dict(),
                "ages": self.collector.ages,
                "learner": self.learner.state_dict(),
                "noise": self._noise.state_dict(),
            }
            if self._preferences is not None:
                state["preferences"] = self._preferences.state_dict()
        checkpoint.save(self.folder / "checkpoint.pt", state)

    def fail(self, reason: str) -> TrainResult:
        """End all candidates that are still in training for this reason."""
        say("all candidates failed", reason)
        for candidate in self.active:
            candidate.reason = reason
        self.active = []
        self._write_progress("done")
        return self._result()

    def _cancel(self) -> None:
        for candidate in self.active:
            candidate.reason, candidate.cancelled = "cancelled", True
        self.active = []

    def _compile(self, candidate: Candidate) -> Any:
        try:
            reward = compile_reward(self.job.sources[candidate.index], self.info.name)
            return Scorer(reward, f"candidate {candidate.index}", partial(self._mark.mark_call, candidate.index))
        except Refused as refused:
            candidate.reason = f"{refused.stage}: {refused.reason}"
            return None

    def _write_progress(self, phase: str) -> None:
        candidates = tuple(c.describe_progress(phase, self.preset.samples) for c in self.candidates)
        samples = sum(c.samples for c in self.candidates)
        fraction = 1.0 if phase == "done" or not self.active else self.iteration / self.preset.iterations
        clock, ahead = self._session_clock, self._preferences.count_labels_ahead() if self._preferences else 0
        now = Progress(
            phase,
            fraction,
            samples=samples,
            candidates=candidates,
            learning_seconds=clock.seconds,
            learning_left=clock.estimate(ahead if self.active else 0),
            waits_at=self._compute_wait(),
        )
        write_json(self.folder / "progress.json", now)
        self._reported_at = time.monotonic()

    def _compute_wait(self) -> float | None:
        """The fraction of the training at which it stops next to wait for answers; None: it does not."""
        due = self._preferences.find_next_session() if self.active and self._preferences is not None else None
        return None if due is None else max(due, self.iteration) / self.preset.iterations

    def _result(self) -> TrainResult:
        return TrainResult(
            candidates=tuple(c.result(self.info, self.preset) for c in self.candidates),
            seconds=self.seconds,
            samples=sum(c.samples for c in self.candidates),
            cancelled=any(c.cancelled for c in self.candidates),
        )
