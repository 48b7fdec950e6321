"""Policies that learn from pairs: what a lockstep training does beside its usual steps.

One iteration, PrefPPO (B-Pref, algorithm 2), PEBBLE (algorithm 1 and 2), SURF, QPA, RIME and RL-VLM-F alike:

1. a horizon is collected; before a row has learned a reward it is rewarded by particle entropy, then by its model; one
   with a program (`prior.py`) by that, then by both;
2. the policy is improved, as in any training;
3. rows for which a session is due select pairs, get answers, and learn their reward model; their replay is relabelled,
   and after the first time what had learned values of the entropy begins again.

Where answers come from outside, the training stops between selecting pairs and learning: what was selected is part of
its state.

Rows are candidates with preferences; others of the batch are left alone. No row depends on another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
from torch import Tensor

from simulation.catalog import AnyPreset, SacPreset, TaskInfo
from trainer.collect import Horizon
from trainer.experience import Newest
from trainer.learner import Learner, has_mixed_precision
from trainer.normalizer import RunningNormalizer
from trainer.preferences.algorithms import METHODS, Method, Preferences, count_unlabelled, derive_seed
from trainer.preferences.denoising import make_discriminator
from trainer.preferences.entropy import ParticleEntropy
from trainer.preferences.exchange import Queries
from trainer.preferences.filmed_pairs import choose_filmed
from trainer.preferences.held_out import measure_held_out
from trainer.preferences.labels import Labels, Unlabelled, find_learned_pairs
from trainer.preferences.new_answers import measure_before
from trainer.preferences.prior import Priors
from trainer.preferences.queries import (
    CANDIDATES,
    Query,
    choose_pairs,
    compute_member_probabilities,
    draw_new_pairs,
    draw_pairs,
)
from trainer.preferences.recorded_steps import read_steps
from trainer.preferences.reward_model import Fit, RewardModel
from trainer.preferences.segments import LEAST_SEGMENTS, RECORDED_WORLDS, SegmentReservoir, Segments
from trainer.preferences.session_figures import Session
from trainer.preferences.teacher_answers import TARGETS, ask_teacher, make_empty_labels, make_targets

WARM_STEPS = 5
"""Steps of a reward model that learns the intrinsic reward, for each of the policy's updates (RIME's authors' code)."""


class PreferenceTraining:
    """Reward models, segments and answers of the rows of one shard that learn from pairs."""

    def __init__(
        self,
        info: TaskInfo,
        preset: AnyPreset,
        wanted: Sequence[Preferences | None],
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
        pose_size: int = 0,
    ) -> None:
        """`wanted` and `seeds`: of each candidate in training; None: it learns from its reward function. `pose_size`:
        numbers that say how a robot stands, for films of segments.
        """
        self.preset = preset
        self.groups = [group for group, preferences in enumerate(wanted) if preferences is not None]
        """The candidate of each row, by its place in the batch."""
        self.settings = [preferences for preferences in wanted if preferences is not None]
        self.seeds = [seeds[group] for group in self.groups]
        self.sessions: list[list[Session]] = [[] for _ in self.groups]
        """The sessions that each row has held."""
        self.sums: dict[int, tuple[float, int]] = {}
        """Candidate -> the last horizon's sum of learned rewards, and their number; none before the first session."""
        self._priors = Priors(self.settings, device)
        inputs = info.num_obs + info.num_actions + self._priors.columns
        steps = min(self.settings[0].segment or info.episode_steps, info.episode_steps)
        self._worlds, self._episode_steps = min(RECORDED_WORLDS, preset.worlds), info.episode_steps
        drawn = [derive_seed("reward model", seed) for seed in self.seeds]
        mixed, known = has_mixed_precision(torch.device(device)), self._priors.columns
        self._model = RewardModel(inputs - known, drawn, device, mixed, bool(known))
        last = [METHODS[one.method].last_episodes for one in self.settings]
        sizes, outside = (inputs, self._worlds, steps, preset.horizon), any(one.outside for one in self.settings)
        self._segments = SegmentReservoir(*sizes, last, self.seeds, device, pose_size, info.episode_steps, outside)
        warm = [METHODS[one.method].warm_start for one in self.settings]
        self._entropy: ParticleEntropy | None = ParticleEntropy(info.num_obs, self.seeds, device, warm)
        self._discriminators = [make_discriminator(one) for one in self.settings]
        self._deviations = [RunningNormalizer(1, 1, device) for _ in self.seeds]
        self._labels = [make_empty_labels(steps, inputs, device) for _ in self.seeds]
        self._origins: list[list[tuple[int, int]]] = [[] for _ in self.seeds]
        """(session, place in it) of each label."""
        self._learned = [False for _ in self.seeds]
        self._queries: list[Query | None] = [None for _ in self.seeds]
        """What each row is asked in the session that is due."""
        self.answered: dict[int, tuple[Queries, Segments]] = {}
        """Candidate -> pairs to film that its teacher answered in the sessions held last."""

    @torch.no_grad()
    def rewards(self, horizon: Horizon) -> Tensor:
        """What the policies are rewarded with (K, T, M) in place of the reward functions' totals; records segments."""
        experience, groups = horizon.experience, self.groups
        rewards = experience.rewards.clone()
        observations = experience.observations[groups].flatten(1, 2)
        actions = experience.actions[groups].flatten(1, 2).clamp(-1.0, 1.0)  # as the worlds take them
        inputs = torch.cat((observations, actions), dim=-1)
        inputs = self._priors.extend(inputs, experience.rewards[groups].flatten(1, 2))
        steps = read_steps(horizon, groups, [one.truth for one in self.settings], self._worlds)
        self._segments.add(inputs.view(len(groups), *rewards.shape[1:], -1)[:, :, : self._worlds], **steps)
        self.sums = {group: (0.0, 0) for group in groups}
        learned = [row for row, has in enumerate(self._learned) if has]
        if learned:
            taken = torch.stack([self._priors.convert_units(row, inputs[row]) for row in learned])
            found = self._model.predict(learned, taken)
            for row, values in zip(learned, found, strict=True):
                values = self._priors.unit(row) * values
                self.sums[groups[row]] = (float(values.sum(dtype=torch.float64)), values.numel())
                rewards[groups[row]] = self._scale(row, values).view(rewards.shape[1:])
        for row in (row for row, has in enumerate(self._priors.rows) if has and not self._learned[row]):
            self._priors.observe(row, inputs[row, :, -1])
            rewards[groups[row]] = self._scale(row, inputs[row, :, -1]).view(rewards.shape[1:])
        exploring = [row for row, has in enumerate(self._learned) if not has and not self._priors.rows[row]]
        rewards[[groups[row] for row in exploring]] = 0.0  # of rows that lost all labels after the entropy was given up
        if exploring and self._entropy is not None:
            found = self._entropy.rewards(exploring, observations[exploring])
            for row, values in zip(exploring, found, strict=True):
                rewards[groups[row]] = values.view(rewards.shape[1:])
            self._learn_intrinsic(exploring, inputs, found)
        return rewards

    def find_newest(self, iteration: int) -> dict[int, Newest]:
        """What the candidates draw from their newest samples in this iteration (QPA, section 5.2): as many samples as
        the episodes have that their queries are about.
        """
        found = {}
        for group, wanted, seed, learned in zip(self.groups, self.settings, self.seeds, self._learned, strict=True):
            method = METHODS[wanted.method]
            if method.hybrid and method.last_episodes and learned:
                samples = method.last_episodes * self._episode_steps
                found[group] = Newest(method.hybrid, samples, derive_seed("newest samples", seed, iteration))
        return found

    @torch.no_grad()
    def ask(self, iteration: int) -> None:
        """Select the pairs of the rows for which a session is due after this many iterations."""
        self._queries = [self._select(row, iteration) for row in range(len(self.groups))]

    @property
    def keeps_poses(self) -> bool:
        """Whether segments can be filmed: not where an earlier version began a training that a teacher answers."""
        return self._segments.keeps_poses

    @property
    def asks(self) -> bool:
        """Whether sessions are due that have not been held."""
        return any(query is not None for query in self._queries)

    def list_asked_outside(self) -> dict[int, tuple[Query, Segments]]:
        """Candidate -> what it asks of others than its teacher, in the session that is due."""
        asked = zip(self.groups, self.settings, self._queries, strict=True)
        queries = {group: query for group, wanted, query in asked if wanted.outside and query is not None}
        rows = {group: self.groups.index(group) for group in queries}
        return {group: (query, self._segments.segments(rows[group], query.places)) for group, query in queries.items()}

    @torch.no_grad()
    def hold_sessions(
        self, learner: Learner, iteration: int, outside: Mapping[int, Sequence[Sequence[str]]] | None = None
    ) -> list[int]:
        """Answer and learn in the rows that ask, after this many iterations; their candidates. `outside`: candidate ->
        the answers of all its sessions so far, where no teacher gives them.
        """
        if not self.asks:
            return []
        before, self.answered = self._model.freeze(), {}
        asked = {
            row: self._answer(row, query, iteration, (outside or {}).get(self.groups[row]))
            for row, query in enumerate(self._queries)
            if query is not None
        }
        fitted = [row for row in asked if len(self._labels[row])]
        lost = [row for row in asked if self._learned[row] and row not in fitted]
        self._change_reward(learner, lost, before, begin_again=True, forget=True)
        for row in lost:
            self._learned[row] = False
        ended = self._fit(fitted)
        for row, held in asked.items():
            fit = asdict(ended[row]) if row in ended else {"epochs": 0, "accuracy": None}
            kept = self._measure_held_out(row, iteration) if row in ended else None
            self.sessions[row].append(Session(**held, **fit, held_out=kept))
        begin = [row for row in fitted if not self._learned[row] and not self._goes_on(row)]
        self._change_reward(learner, [row for row in fitted if row not in begin], before, begin_again=False)
        self._change_reward(learner, begin, before, begin_again=True)
        for row in fitted:
            self._learned[row] = True
        if all(self._learned):
            self._entropy = None
        self._queries = [None for _ in self.groups]
        return [self.groups[row] for row in asked]

    def count_labels(self, groups: Sequence[int]) -> int:
        """The labels that these candidates have."""
        return sum(len(self._labels[self.groups.index(group)]) for group in groups)

    def count_labels_ahead(self) -> int:
        """The labels of each planned session ahead, summed over rows with a teacher: it learns from all of the row."""
        rows = zip(self.settings, self.sessions, self._labels, strict=True)
        return sum(one.count_labels_ahead(len(held), len(labels)) for one, held, labels in rows if not one.outside)

    def find_next_session(self) -> int | None:
        """After how many iterations the training stops next to ask others than teachers; None: it does not."""
        asking = [row for row, one in enumerate(self.settings) if one.outside and self._labels_left(row) > 0]
        due = [self.settings[row].session_iteration(len(self.sessions[row]), self.preset.iterations) for row in asking]
        return min((iteration for iteration in due if iteration < self.preset.iterations), default=None)

    def sessions_of(self, group: int) -> list[Session]:
        """The sessions that a candidate of the batch has held."""
        return self.sessions[self.groups.index(group)]

    def keep(self, groups: list[int]) -> None:
        """Go on with these candidates of the batch only."""
        rows = [self.groups.index(group) for group in groups if group in self.groups]
        self.groups = [place for place, group in enumerate(groups) if group in self.groups]
        lists = ("settings", "seeds", "sessions", "_deviations", "_labels", "_origins", "_learned", "_discriminators")
        for name in (*lists, "_queries"):
            setattr(self, name, [getattr(self, name)[row] for row in rows])
        for part in (self._model, self._segments, self._priors, self._entropy):
            if part is not None:
                part.keep(rows)

    def state_dict(self) -> dict[str, Any]:
        """Everything that a continuation needs: tensors and plain values."""
        return {
            "model": self._model.state_dict(),
            "segments": self._segments.state_dict(),
            "entropy": None if self._entropy is None else self._entropy.state_dict(),
            "deviations": [deviation.state_dict() for deviation in self._deviations],
            "priors": self._priors.state_dict(),
            "labels": [[one.inputs, one.valid, one.targets] for one in self._labels],
            "origins": self._origins,
            "learned": self._learned,
            "queries": [None if one is None else [one.session, one.places, one.pairs] for one in self._queries],
            "discriminators": [None if one is None else one.state_dict() for one in self._discriminators],
            "sessions": [[session.to_state() for session in held] for held in self.sessions],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict."""
        device = self._model.flat.device
        self._model.load_state_dict(state["model"])
        self._segments.load_state_dict(state["segments"])
        if state["entropy"] is None:
            self._entropy = None
        elif self._entropy is not None:
            self._entropy.load_state_dict(state["entropy"])
        for deviation, saved in zip(self._deviations, state["deviations"], strict=True):
            deviation.load_state_dict(saved)
        self._priors.load_state_dict(state.get("priors", ()))
        self._labels = [Labels(*(tensor.to(device) for tensor in saved)) for saved in state["labels"]]
        saved_origins = state.get("origins") or [[] for _ in self._labels]  # files of earlier versions have none
        self._origins = [[(session, place) for session, place in origins] for origins in saved_origins]
        self._learned = list(state["learned"])
        if "queries" in state:
            self._queries = [None if saved is None else Query(*saved) for saved in state["queries"]]
        for discriminator, saved in zip(self._discriminators, state.get("discriminators", ()), strict=False):
            if discriminator is not None:
                discriminator.load_state_dict(saved)
        self.sessions = [[Session(**session) for session in held] for held in state["sessions"]]

    def _learn_intrinsic(self, exploring: Sequence[int], inputs: Tensor, intrinsic: Tensor) -> None:
        """Have models that want it learn what their rows are rewarded with while they explore (RIME, section 4.2):
        `intrinsic` (exploring, B) of inputs (R, B, F).
        """
        warm = [place for place, row in enumerate(exploring) if METHODS[self.settings[row].method].warm_start]
        if warm and isinstance(self.preset, SacPreset):
            rows, steps = [exploring[place] for place in warm], WARM_STEPS * self.preset.updates
            self._model.approximate(rows, inputs[rows], intrinsic[warm], steps, self.preset.batch)

    def _scale(self, row: int, values: Tensor) -> Tensor:
        """A row's learned rewards as its learner takes them."""
        if not METHODS[self.settings[row].method].scaled:
            return values
        self._deviations[row].update(values.view(1, -1, 1))
        return values / self._deviations[row].scale[0]

    def _read(self, row: int, places: Sequence[int]) -> Segments:
        """A row's segments in these places, as its model takes them."""
        return self._priors.read(row, self._segments.segments(row, places))

    def _labels_left(self, row: int) -> int:
        """How many more answers a row may learn from."""
        return self.settings[row].budget - len(self._labels[row])

    def _select(self, row: int, iteration: int) -> Query | None:
        """The pairs of a row's session, or None where none is held."""
        wanted, number, pool = self.settings[row], len(self.sessions[row]), self._segments.pool(row)
        left, over = self._labels_left(row), wanted.outside and iteration >= self.preset.iterations
        due = wanted.session_iteration(number, self.preset.iterations)
        if iteration < due or left <= 0 or len(pool) < LEAST_SEGMENTS or over:
            return None
        generator = torch.Generator().manual_seed(derive_seed("session", self.seeds[row], iteration))
        chosen = self._choose(row, pool, wanted.count_pairs(number, left), generator)
        if not len(chosen):
            return None
        used, places = torch.unique(chosen, return_inverse=True)
        return Query(number + 1, [pool[place] for place in used.tolist()], places.view(-1, 2))

    def _choose(self, row: int, pool: Sequence[int], count: int, generator: torch.Generator) -> Tensor:
        """Pairs (count, 2) of indices of the pool, by the row's selection."""
        wanted = self.settings[row]
        known = find_learned_pairs(self._read(row, pool), self._labels[row]) if len(self._labels[row]) else ()
        selection = wanted.selection or METHODS[wanted.method].selection
        if selection == "uniform" or not self._learned[row]:
            return draw_new_pairs(len(pool), count, generator, known)
        drawn = draw_new_pairs(len(pool), CANDIDATES * count, generator, known)
        used, places = torch.unique(drawn, return_inverse=True)
        pairs = places.view(-1, 2)
        segments = self._read(row, [pool[place] for place in used.tolist()])
        returns = self._model.member_returns(row, segments.inputs, segments.valid)
        probabilities = compute_member_probabilities(returns, pairs.to(returns.device))
        points = asked = returns.new_zeros(0, 1)
        if "k-center" in selection:
            points = segments.inputs.flatten(1)[pairs].flatten(1)
            asked = self._labels[row].inputs.flatten(1)
        return drawn[choose_pairs(selection, probabilities, points, asked, count)]

    def _answer(
        self, row: int, query: Query, iteration: int, outside: Sequence[Sequence[str]] | None
    ) -> dict[str, Any]:
        """Keep the answers to a row's pairs as labels; what a Session says of them."""
        segments, pairs = self._read(row, query.places), query.pairs
        if outside is not None:
            self._take_back(row, outside)
        seed = derive_seed("session", self.seeds[row], iteration)
        answers = self._ask_teacher(row, segments, pairs, seed) if outside is None else list(outside[-1])
        if outside is None and (filmed := choose_filmed(query, segments, answers, self.settings[row])):
            self.answered[self.groups[row]] = filmed
        returns = self._model.member_returns(row, segments.inputs, segments.valid) if self._learned[row] else None
        answered, given = make_targets(answers, self._labels[row].targets.device)
        kept = pairs[answered].to(given.device)
        self._labels[row] = self._labels[row].extend(segments.inputs[kept], segments.valid[kept], given)
        self._origins[row] = self._origins[row] + [(query.session, index) for index in answered]
        return {
            "session": query.session,
            "samples": iteration * self.preset.worlds * self.preset.horizon,
            "asked": len(pairs),
            "equal": answers.count("equal"),
            "skipped": answers.count("skip"),
            "labels": len(self._labels[row]),
            **measure_before(returns, segments, pairs, kept, given),
        }

    def _ask_teacher(self, row: int, segments: Segments, pairs: Tensor, seed: int) -> list[str]:
        return ask_teacher(segments, pairs, self.settings[row], self._segments.mean_step(row), seed)

    def _measure_held_out(self, row: int, iteration: int) -> float | None:
        """How often a row is right now on answers that are kept from it; None where no teacher gives them."""
        if self.settings[row].outside:
            return None
        pool, seed = self._segments.pool(row), derive_seed("held out", self.seeds[row], iteration)
        labels, ask = self._labels[row], partial(self._ask_teacher, row)
        return measure_held_out(self._model, row, self._read(row, pool), labels, ask, seed)

    def _take_back(self, row: int, outside: Sequence[Sequence[str]]) -> None:
        """Follow answers that were taken back or are others now: the reward model begins again, with what is left."""
        labels, origins = self._labels[row], self._origins[row]
        now = [outside[session - 1][index] for session, index in origins]
        kept = [place for place, answer in enumerate(now) if answer != "skip"]
        targets = labels.targets.new_tensor([TARGETS[now[place]] for place in kept]).view(-1, 2)
        if len(kept) == len(origins) and torch.equal(targets, labels.targets):
            return
        self._labels[row] = Labels(labels.inputs[kept], labels.valid[kept], targets)
        self._origins[row] = [origins[place] for place in kept]
        self._model.begin_again(row)

    def _goes_on(self, row: int) -> bool:
        """Whether what has learned values before the first session goes on from them: the reward changes little."""
        return METHODS[self.settings[row].method].warm_start or self._priors.rows[row]

    def _change_reward(
        self, learner: Learner, rows: Sequence[int], before: RewardModel, begin_again: bool, forget: bool = False
    ) -> None:
        """Have rows learn from what their models say now, in place of what they said `before`. `forget`: they have no
        label left, and get no reward but their program's.
        """
        if not rows:
            return
        seeds = [derive_seed("new values", self.seeds[row]) for row in rows] if begin_again else None
        spoke = [self._learned[row] for row in rows]
        rewards = self._priors.make_relabeller(rows, None if forget else self._model, before, spoke)
        learner.change_reward([self.groups[row] for row in rows], rewards, seeds)

    def _fit(self, rows: Sequence[int]) -> dict[int, Fit]:
        """Have these rows learn from their labels, and how that went."""
        fits: dict[int, Fit] = {}
        for name in dict.fromkeys(self.settings[row].method for row in rows):
            method, alike = METHODS[name], [row for row in rows if self.settings[row].method == name]
            labels = [self._labels[row] for row in alike]
            unlabelled = [self._draw_unlabelled(row, method) for row in alike] if method.unlabelled else None
            crops = method.crops if self.settings[alike[0]].segment else 0
            sorting = [one for row in alike if (one := self._discriminators[row]) is not None]
            ended = self._model.fit(
                alike, labels, method.most_epochs, unlabelled, crops, sorting or None, method.least_epochs
            )
            fits |= zip(alike, ended, strict=True)
        return fits

    def _draw_unlabelled(self, row: int, method: Method) -> Unlabelled:
        """Pairs of a row without answers, drawn at random from its pool."""
        labels, seed = len(self._labels[row]), derive_seed("unlabelled", self.seeds[row], len(self.sessions[row]))
        segments = self._read(row, self._segments.pool(row))
        count = count_unlabelled(method, self.settings[row].budget) * labels
        pairs = draw_pairs(len(segments), count, torch.Generator().manual_seed(seed))
        return Unlabelled(segments.inputs, segments.valid, pairs, crops=self.settings[row].segment > 0)
