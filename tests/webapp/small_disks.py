"""A real disk that can be full: a tmpfs of a few kB, which only root may mount."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


class SmallDisk:
    def __init__(self, path: Path, size: str) -> None:
        self.path = path
        path.mkdir()
        self._call("mount", "-t", "tmpfs", "-o", f"size={size}", "prefine-test", str(path))

    def fill(self, left: int = 0) -> None:
        """Leave this many bytes free."""
        filler = self.path / "filler"
        with filler.open("ab", buffering=0) as file:
            for block in (1 << 20, 4096, 1):
                try:
                    while file.write(b"x" * block):
                        pass
                except OSError:
                    continue
        os.truncate(filler, filler.stat().st_size - left)

    def free(self) -> None:
        (self.path / "filler").unlink()

    def remove(self) -> None:
        self._call("umount", "--lazy", str(self.path))

    def _call(self, *command: str) -> None:
        subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of 8 MB."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    disk = SmallDisk(tmp_path / "small-disk", "8m")
    try:
        yield disk
    finally:
        disk.remove()
