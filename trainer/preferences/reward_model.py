"""Reward models of R rows at once, each an ensemble of three perceptrons over observation and action.

After B-Pref (Lee et al. 2021, section 4) and PEBBLE (Lee et al. 2021, section 4.2): three hidden layers of 256 with
LeakyReLU, tanh on the output, the members' mean as reward. The parameters of member m of row r are row 3 r + m of one
flat matrix [3 R, P], so that a layer of all rows is one batched product on a GPU, and of a row's members on a CPU.
Nothing mixes rows: a row learns the same in any company.

Shapes: R rows, E = 3 members, N labels, B labels of a minibatch, L steps of a segment, F inputs.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from trainer.adam import StackedAdam
from trainer.preferences.denoising import Discriminator, compute_label_divergences
from trainer.preferences.labels import CROPS, LABELLED_CROPS, Batch, Labels, Unlabelled, crop_pairs, pick_labels

MEMBERS = 3
HIDDEN = (256, 256, 256)
SLOPE = 0.01
"""The slope of LeakyReLU below zero."""
LEARNING_RATE = 3e-4
BATCH = 128
"""Labels of a minibatch."""
ENOUGH = 0.97
"""Share of the decided labels that the members, on average, must get right for a row to stop."""
RATIO = 4
"""Unlabelled pairs in a minibatch, for each label (SURF's published runs)."""
CONFIDENCE = 0.99
"""Above it, a member's answer is a pseudo-label (the same)."""
STATES_AT_ONCE = 3 << 14
"""States of one product at most when a GPU predicts rewards."""
STATES_IN_CACHE = 1 << 11
"""States of one member's product at most on a CPU: what lies between the layers then stays in its cache. When it
learns, one pair's steps may be more."""


@dataclass(frozen=True)
class Fit:
    """How learning from labels went for one row."""

    epochs: int
    accuracy: float | None
    """Share of the decided labels that the members get right in the last epoch, on average; None where none is."""
    left_out: int | None = None
    """Labels that a discriminator left out of the last epoch; None: there is none."""
    turned: int | None = None
    """Labels that it turned round."""


def compute_preference_loss(returns: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy (..., B) of targets (..., B, 2) and the softmax of summed rewards (..., B, 2).

    -sum_i y_i log P_i with P_i = exp(G_i) / (exp(G_1) + exp(G_2)) (PEBBLE, equations 3 and 4).
    """
    return -(targets * torch.log_softmax(returns, dim=-1)).sum(-1)


def find_right_answers(returns: Tensor, targets: Tensor) -> Tensor:
    """Which answers (..., B) these sums of rewards (..., B, 2) get right; one without a preference is never right."""
    return (targets[..., 0] != targets[..., 1]) & (returns.argmax(-1) == targets.argmax(-1))


class RewardModel:
    """R ensembles and their optimisers."""

    def __init__(
        self,
        inputs: int,
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
        mixed_precision: bool = False,
        prior: bool = False,
    ) -> None:
        """`seeds`: of each row's initial weights and of the orders in which it learns; `inputs`: F, and one more with
        `prior`: the last column, a reward that is known already, is added to what the networks say of the others.
        `mixed_precision` runs the products between hidden layers, nearly all of the work, in bfloat16.
        """
        self._seeds = list(seeds)
        self._prior = prior
        self._dtype = torch.bfloat16 if mixed_precision else None
        self.layers = tuple(pairwise((inputs, *HIDDEN, 1)))
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        initial = [self._draw_parameters(generator) for generator in self._generators for _ in range(MEMBERS)]
        self.flat = torch.stack(initial).to(device)
        """[3 R, P]."""
        self.optimizer = StackedAdam(self.flat)

    def rewards(self, flat: Tensor, x: Tensor) -> Tensor:
        """Each member's rewards (3 R, B) in (-1, 1) of inputs (3 R, B, F), from its parameters [3 R, P].

        Zeros after the inputs keep the sizes of the products few: on a CPU each new size of a bfloat16 product compiles
        a kernel, which stays in memory, and every minibatch of whole episodes has another number of steps.
        """
        count, known = x.shape[1], x[..., -1] if self._prior else None
        x = x if known is None else x[..., :-1]
        x = functional.pad(x, (0, 0, 0, round_up_size(count) - count))
        columns = iter(torch.split(flat, [size for i, o in self.layers for size in (i * o, o)], dim=1))
        last = len(self.layers) - 1
        for index, (inputs, outputs) in enumerate(self.layers):
            weight, bias = next(columns).view(-1, inputs, outputs), next(columns).unsqueeze(1)
            dtype = self._dtype if self._dtype is not None and 0 < index < last else flat.dtype
            x = torch.baddbmm(bias.to(dtype), x.to(dtype), weight.to(dtype))
            x = torch.tanh(x) if index == last else functional.leaky_relu(x, SLOPE, inplace=True)
        found = x.squeeze(-1)[:, :count]
        return found if known is None else found + known

    @torch.no_grad()
    def member_rewards(self, rows: Sequence[int], x: Tensor) -> Tensor:
        """Each member's rewards (rows, 3, B) of inputs (rows, B, F)."""
        found = []
        for stack in self._stacks(range(len(rows))):
            flat = self.flat[_list_members([rows[index] for index in stack])]
            most = max(1, STATES_AT_ONCE // len(flat)) if flat.is_cuda else STATES_IN_CACHE
            parts = (part.repeat_interleave(MEMBERS, 0) for part in torch.split(x[stack], most, dim=1))
            rewards = torch.cat([self.rewards(flat, part) for part in parts], dim=1)
            found.append(rewards.view(len(stack), MEMBERS, -1))
        return torch.cat(found)

    def predict(self, rows: Sequence[int], x: Tensor) -> Tensor:
        """Rewards (rows, B) of inputs (rows, B, F): the members' mean."""
        return self.member_rewards(rows, x).mean(1)

    def member_returns(self, row: int, inputs: Tensor, valid: Tensor) -> Tensor:
        """What each member of a row expects of segments: summed rewards (3, S) of inputs (S, L, F), valid (S, L)."""
        found = torch.zeros(MEMBERS, *valid.shape, device=inputs.device)
        found[:, valid] = self.member_rewards([row], inputs[valid].unsqueeze(0))[0]
        return found.sum(-1)

    def fit(
        self,
        rows: Sequence[int],
        labels: Sequence[Labels],
        most_epochs: int,
        unlabelled: Sequence[Unlabelled] | None = None,
        crops: int = 0,
        discriminators: Sequence[Discriminator] | None = None,
        least_epochs: int = 1,
    ) -> list[Fit]:
        """Learn from each row's labels, until its members get more than ENOUGH right or for `most_epochs`; and from
        its unlabelled pairs where these are given. With `crops`, from that many crops of each label. With
        `discriminators`, from the labels that these let pass.

        A row that has stopped stays as it is while the others go on. Rows with equally many labels may learn as one
        stack, unless they are sorted: then it is another number in each epoch.
        """
        fits: dict[int, Fit] = {}
        for size in dict.fromkeys(map(len, labels)):
            alike = [index for index, of_row in enumerate(labels) if len(of_row) == size]
            for stack in self._stacks(alike) if discriminators is None else [[index] for index in alike]:
                pairs = None if unlabelled is None else [unlabelled[i] for i in stack]
                discriminator = None if discriminators is None else discriminators[stack[0]]
                epochs = (least_epochs, most_epochs)
                given = [labels[i] for i in stack]
                fits |= self._fit_stack([rows[i] for i in stack], given, epochs, pairs, crops, discriminator)
        return [fits[row] for row in rows]

    @torch.no_grad()
    def approximate(self, rows: Sequence[int], x: Tensor, wanted: Tensor, steps: int, batch: int) -> None:
        """Take `steps` steps towards the rewards `wanted` (rows, B) of inputs x (rows, B, F), by the mean squared error
        of minibatches that are drawn at random (RIME, section 4.2).
        """
        for stack in self._stacks(range(len(rows))):
            members = _list_members([rows[index] for index in stack])
            flat, optimizer = self.flat[members], self.optimizer.rows(members)
            rates = torch.full((len(members),), LEARNING_RATE, device=flat.device)
            for _ in range(steps):
                streams = [self._generators[rows[index]] for index in stack]
                drawn = [torch.randint(x.shape[1], (batch,), generator=stream).to(x.device) for stream in streams]
                picked = list(zip(stack, drawn, strict=True))
                inputs = torch.stack([x[index, places] for index, places in picked]).repeat_interleave(MEMBERS, 0)
                targets = torch.stack([wanted[index, places] for index, places in picked])
                parameters = flat.detach().requires_grad_()
                with torch.enable_grad():
                    errors = self.rewards(parameters, inputs) - targets.repeat_interleave(MEMBERS, 0)
                    (gradient,) = torch.autograd.grad(errors.square().mean(1).sum(), parameters)
                optimizer.step(flat, gradient, rates)
            self.flat[members] = flat
            self.optimizer.replace(members, optimizer)

    def _stacks(self, rows: Sequence[int]) -> list[list[int]]:
        """The rows of one product: all of them on a GPU, where many small products take as long as one. On a CPU that
        saves nothing, and each row's three members alone give the same bits in any company.
        """
        return [list(rows)] if self.flat.is_cuda else [[row] for row in rows]

    def freeze(self) -> RewardModel:
        """A copy that stays as it is while this one learns."""
        frozen = copy.copy(self)
        frozen.flat = self.flat.clone()
        return frozen

    def begin_again(self, row: int) -> None:
        """Have a row forget all that it has learned."""
        self._generators[row].manual_seed(self._seeds[row])
        members = _list_members([row])
        self.flat[members] = torch.stack([self._draw_parameters(self._generators[row]) for _ in members]).to(
            self.flat.device
        )
        self.optimizer.restart(members)

    def keep(self, rows: list[int]) -> None:
        """Go on with these rows only."""
        self._seeds = [self._seeds[row] for row in rows]
        self.flat = self.flat[_list_members(rows)]
        self.optimizer.keep(_list_members(rows))
        self._generators = [self._generators[row] for row in rows]

    def state_dict(self) -> dict[str, Any]:
        """Everything that a continuation needs: tensors and plain values."""
        return {
            "flat": self.flat,
            "first": self.optimizer.first,
            "second": self.optimizer.second,
            "steps": self.optimizer.steps,
            "begun": self.optimizer.begun,
            "generators": [generator.get_state() for generator in self._generators],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict, on this model's device."""
        device, self.flat = self.flat.device, state["flat"].to(self.flat.device)
        self.optimizer = StackedAdam(self.flat)
        self.optimizer.first, self.optimizer.second = state["first"].to(device), state["second"].to(device)
        self.optimizer.steps, self.optimizer.begun = state["steps"], list(state["begun"])
        self._generators = [torch.Generator() for _ in state["generators"]]
        for generator, saved in zip(self._generators, state["generators"], strict=True):
            generator.set_state(saved.clone())

    def _draw_parameters(self, generator: torch.Generator) -> Tensor:
        """One member's parameters [P]: uniform in +-1/sqrt(inputs), as PyTorch's linear layers begin."""
        parts = []
        for inputs, outputs in self.layers:
            bound = 1 / math.sqrt(inputs)
            parts.append(torch.empty((inputs + 1) * outputs).uniform_(-bound, bound, generator=generator))
        return torch.cat(parts)

    def _fit_stack(
        self,
        rows: Sequence[int],
        labels: Sequence[Labels],
        epochs: tuple[int, int],
        unlabelled: Sequence[Unlabelled] | None,
        crops: int,
        discriminator: Discriminator | None,
    ) -> dict[int, Fit]:
        """As `fit`, for rows with equally many labels, or for the one that this discriminator belongs to. `epochs`:
        least and most.
        """
        fits: dict[int, Fit] = {}
        learning = list(range(len(rows)))
        for epoch in range(1, epochs[1] + 1):
            pairs = None if unlabelled is None else [unlabelled[i] for i in learning]
            given, rate, left_out, turned = [labels[i] for i in learning], LEARNING_RATE, None, None
            if discriminator is not None:
                rate *= discriminator.rate_share()
                trusted, turned = self._sort(rows[0], labels[0], discriminator)
                given, left_out = [trusted], len(labels[0]) - len(trusted)
            accuracies = self._train_epoch([rows[i] for i in learning], given, pairs, crops, rate)
            fits |= {
                rows[i]: Fit(epoch, right, left_out, turned) for i, right in zip(learning, accuracies, strict=True)
            }
            learning = [i for i in learning if epoch < epochs[0] or _needs_more(fits[rows[i]])]
            if not learning:
                break
        return fits

    def _sort(self, row: int, labels: Labels, discriminator: Discriminator) -> tuple[Labels, int]:
        """The labels that a row learns from in its next epoch, and how many of them are turned round. An answer that
        both are equal has no other side.
        """
        returns = self.member_returns(row, labels.inputs.flatten(0, 1), labels.valid.flatten(0, 1))
        predicted = torch.softmax(returns.view(MEMBERS, -1, 2), dim=-1).mean(0)
        kept, turned = discriminator.sort(compute_label_divergences(labels.targets, predicted))
        turned = turned & (labels.targets[:, 0] != labels.targets[:, 1])
        targets = torch.where(turned.unsqueeze(1), labels.targets.flip(1), labels.targets)
        chosen = kept | turned
        return Labels(labels.inputs[chosen], labels.valid[chosen], targets[chosen]), int(turned.sum())

    def _train_epoch(
        self,
        rows: Sequence[int],
        labels: Sequence[Labels],
        unlabelled: Sequence[Unlabelled] | None,
        crops: int,
        rate: float,
    ) -> list[float | None]:
        """One pass over the labels, each member in its own order; each row's accuracy on the way."""
        count, members = len(labels[0]), _list_members(rows)
        orders = [[torch.randperm(count, generator=self._generators[row]) for _ in range(MEMBERS)] for row in rows]
        flat, optimizer = self.flat[members], self.optimizer.rows(members)
        rates = torch.full((len(members),), rate, device=flat.device)
        right = torch.zeros(len(rows), device=flat.device)
        for begin in range(0, count, BATCH):
            picked = [[order[begin : begin + BATCH].to(flat.device) for order in of_row] for of_row in orders]
            batch = pick_labels(labels, picked)
            if unlabelled is not None:
                batch = self._add_pseudo_labels(flat, rows, batch, unlabelled)
            if crops:
                batch = self._crop_batch(rows, batch, crops)
            gradient, hits = self._gradient(flat, batch)
            optimizer.step(flat, gradient, rates)
            copies = max(1, crops)
            right += hits[:, : copies * len(picked[0][0])].reshape(len(rows), -1).sum(1) / copies
        self.flat[members] = flat
        self.optimizer.replace(members, optimizer)
        decided = [int((of_row.targets[:, 0] != of_row.targets[:, 1]).sum()) for of_row in labels]
        return [
            hits / (MEMBERS * number) if number else None for hits, number in zip(right.tolist(), decided, strict=True)
        ]

    def _gradient(self, flat: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Gradient [3 R, P] of each member's loss of its batch, and which answers (3 R, C B) it gets right. On a CPU,
        of one member and a few pairs after another.
        """
        if flat.is_cuda:
            return self._gradient_at_once(flat, batch)
        gradient, right = torch.zeros_like(flat), []
        pairs = max(1, STATES_IN_CACHE // batch.inputs[0, 0, ..., 0].numel())
        for member in range(len(flat)):
            one, hits = slice(member, member + 1), []
            for part in batch.split(member, pairs):
                of_part, right_of_part = self._gradient_at_once(flat[one], part)
                gradient[one] += of_part
                hits.append(right_of_part.view(1, -1, part.inputs.shape[1]))
            right.append(torch.cat(hits, dim=2).flatten(1))
        return gradient, torch.cat(right)

    def _gradient_at_once(self, flat: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """As `_gradient`."""
        parameters = flat.detach().requires_grad_()
        with torch.enable_grad():
            returns = self._returns(parameters, batch.inputs, batch.valid)
            (gradient,) = torch.autograd.grad(
                (compute_preference_loss(returns, batch.targets) * batch.weights).sum(), parameters
            )
        return gradient, find_right_answers(returns.detach(), batch.targets).float()

    def _returns(self, flat: Tensor, inputs: Tensor, valid: Tensor) -> Tensor:
        """Summed rewards (3 R, C B, 2) of inputs (3 R, B, 2, L, F), valid (3 R, C B, 2, L): of the valid steps alone,
        which in whole episodes may be few; what several crops have in common is computed once.
        """
        crops = valid.view(len(flat), -1, *inputs.shape[1:4])
        flags = crops.any(1).flatten(1) if crops.shape[1] > 1 else valid.flatten(1)
        most = int(flags.sum(1).max())
        order = flags.byte().argsort(dim=1, descending=True, stable=True)[:, :most]
        states = inputs.flatten(1, 3).gather(1, order.unsqueeze(-1).expand(-1, -1, inputs.shape[-1]))
        rewards = torch.zeros_like(flags, dtype=flat.dtype).scatter(1, order, self.rewards(flat, states))
        return (rewards.view(crops[:, :1].shape) * crops).sum(-1).flatten(1, 2)

    def _add_pseudo_labels(
        self, flat: Tensor, rows: Sequence[int], batch: Batch, unlabelled: Sequence[Unlabelled]
    ) -> Batch:
        """The batch, and RATIO times as many unlabelled pairs with the answers of which a member is sure (SURF, Park et
        al. 2022, equations 3 and 5); all of them cropped (section 3.2).
        """
        count = batch.targets.shape[1]
        streams = [self._generators[row] for row in rows for _ in range(MEMBERS)]
        owners = [of_row for of_row in unlabelled for _ in range(MEMBERS)]
        drawn = [
            of_row.pairs[torch.randint(len(of_row.pairs), (RATIO * count,), generator=stream)].to(flat.device)
            for of_row, stream in zip(owners, streams, strict=True)
        ]
        inputs = torch.stack([of_row.inputs[pairs] for of_row, pairs in zip(owners, drawn, strict=True)])
        valid = torch.stack([of_row.valid[pairs] for of_row, pairs in zip(owners, drawn, strict=True)])
        with torch.no_grad():
            sure = torch.softmax(self._returns(flat, inputs, valid), dim=-1)
        targets = functional.one_hot(sure.argmax(-1), 2).float()
        weights = (sure.amax(-1) > CONFIDENCE) / (RATIO * count)
        valid = torch.cat((batch.valid, valid), dim=1)
        if unlabelled[0].crops:
            valid = torch.stack([crop_pairs(of, stream, CROPS) for of, stream in zip(valid, streams, strict=True)])
        return Batch(
            torch.cat((batch.inputs, inputs), dim=1),
            valid,
            torch.cat((batch.targets, targets), dim=1),
            torch.cat((batch.weights, weights), dim=1),
        )

    def _crop_batch(self, rows: Sequence[int], batch: Batch, crops: int) -> Batch:
        """The batch with `crops` crops of each pair in its place (QPA, Hu et al. 2024: data augmentation)."""
        streams = [self._generators[row] for row in rows for _ in range(MEMBERS)]
        repeated = zip(batch.valid.repeat(1, crops, 1, 1), streams, strict=True)
        valid = torch.stack([crop_pairs(of_member, stream, LABELLED_CROPS) for of_member, stream in repeated])
        weights = batch.weights.repeat(1, crops) / crops
        return Batch(batch.inputs, valid, batch.targets.repeat(1, crops, 1), weights)


def _needs_more(fit: Fit) -> bool:
    """Whether too many decided labels are still wrong."""
    return fit.accuracy is not None and fit.accuracy <= ENOUGH


def round_up_size(count: int) -> int:
    """The next of the sizes 1 to 8, 10, 12, 14, 16, 20, ...: four between a power of two and the next."""
    unit = 1 << max(0, (count - 1).bit_length() - 3)
    return math.ceil(count / unit) * unit


def _list_members(rows: Sequence[int]) -> list[int]:
    """The rows of the flat matrix that hold these rows' members."""
    return [MEMBERS * row + member for row in rows for member in range(MEMBERS)]
