"""The variables of a set of worlds, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor


class Worlds:
    """Variables of `num_envs` worlds as attributes: per-world tensors (num_envs, ...) and the task's constants.

    Per-world tensors are replaced, never written in place: a tensor that was handed out keeps its values.
    """

    def __init__(self, num_envs: int, constants: dict[str, Any], variables: dict[str, Tensor] | None = None) -> None:
        self.num_envs = num_envs
        self._constants = constants
        self.__dict__.update(constants)
        self.__dict__.update(variables or {})

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Tensor: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def variables(self) -> dict[str, Tensor]:
        """The per-world tensors by name."""
        skipped = self._constants.keys() | {"num_envs", "_constants"}
        return {name: value for name, value in self.__dict__.items() if name not in skipped}

    def rows(self, ids: Tensor) -> Worlds:
        """A copy of these worlds alone."""
        return Worlds(len(ids), self._constants, {name: v[ids] for name, v in self.variables().items()})

    def replace_rows(self, ids: Tensor, other: Worlds) -> None:
        """Take the worlds `ids` (len(ids),) from `other`, row by row; all worlds at once may bring new variables."""
        for name, value in other.variables().items():
            all_worlds = len(ids) == self.num_envs
            self.__dict__[name] = value if all_worlds else self.__dict__[name].index_copy(0, ids, value)

    def update(self, variables: dict[str, Tensor]) -> None:
        """Set per-world tensors by name."""
        self.__dict__.update(variables)
