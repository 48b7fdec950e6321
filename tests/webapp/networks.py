"""A machine with a network of its own, which can be cut off. Needs root and iproute2."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

NOBODY = "02:00:00:00:00:01"
"""A hardware address that no end of a cable has: what is sent to it is lost without a word."""


@dataclass(frozen=True)
class Network:
    """A network namespace with a cable to this one."""

    name: str
    cable: str
    number: int

    @property
    def here(self) -> str:
        """The address of this end."""
        return f"10.77.{self.number}.1"

    @property
    def there(self) -> str:
        return f"10.77.{self.number}.2"

    @property
    def prefix(self) -> list[str]:
        """A command that starts a program there, on a machine of another name."""
        name = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.name]
        return ["ip", "netns", "exec", self.name, *name]

    def cut(self) -> None:
        """Lose everything that either end sends from now on; neither is told."""
        _run(f"ip neigh replace {self.there} lladdr {NOBODY} dev {self.cable}a nud permanent")
        _run(f"ip -n {self.name} neigh replace {self.here} lladdr {NOBODY} dev {self.cable}b nud permanent")

    def heal(self) -> None:
        _run(f"ip neigh del {self.there} dev {self.cable}a")
        _run(f"ip -n {self.name} neigh del {self.here} dev {self.cable}b")


@contextmanager
def network(number: int) -> Iterator[Network]:
    made = Network(f"prefine-{os.getpid()}-{number}", f"pf{os.getpid() % 10_000}{number}", number)
    name, cable = made.name, made.cable
    try:
        _run(f"ip netns add {name}")
        _run(f"ip link add {cable}a type veth peer name {cable}b netns {name}")
        _run(f"ip addr add {made.here}/24 dev {cable}a")
        _run(f"ip link set {cable}a up")
        _run(f"ip -n {name} addr add {made.there}/24 dev {cable}b")
        _run(f"ip -n {name} link set {cable}b up")
        _run(f"ip -n {name} link set lo up")
        yield made
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)


def _run(command: str) -> None:
    subprocess.run(command.split(), check=True, capture_output=True)
