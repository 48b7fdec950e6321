"""The bridge's far end: hosts one engine in an interpreter of its own. Ends when its socket closes.

Started by `client`:

    python -m simulation.bridge.engine_host ENGINE DESCRIPTOR

Runs under Python 3.8. ENGINE is a name in `ENGINES`, whose module has

    prepare(described) -> model                   once, from the client's description; its files are gone afterwards
    Host(model, worlds, substeps, fields, threads, device)
    engine                                        whose state it is
    step(ctrl) -> ids of the failed worlds        numpy arrays throughout, one row per world
    place(ids, qpos, qvel)                        fields(ids) -> {name: array}, ids None for all
    qpos(world) -> float64                        state() -> (worlds, size) float64    load(state)
"""

from __future__ import annotations

import argparse
import importlib
import mmap
import os
import platform
import socket
from typing import Any

from simulation.bridge import transport

ENGINES = {"mujoco": "simulation.mujoco_host", "isaacgym": "simulation.bridge.isaacgym.host"}
"""Engine -> the module that hosts it."""


class Worker:
    """Answers one client's requests."""

    def __init__(self, engine: str, channel: transport.Channel) -> None:
        self._engine = engine
        self._channel = channel
        self._host: Any = None
        self._sizes: dict[str, int] = {}
        self._model: Any = None
        self._block: mmap.mmap | None = None
        self._views: dict[str, Any] = {}

    def serve(self) -> None:
        """Answer until the client closes the connection. A refusal of the engine goes back as an error, and the worker
        continues.
        """
        while True:
            try:
                message = self._channel.receive()
            except transport.BridgeLost:
                return
            try:
                answer, block = self._answer(message)
            except (ImportError, ValueError, RuntimeError, MemoryError) as error:
                answer, block = {"ok": False, "error": f"{type(error).__name__}: {error}"}, None
            self._channel.send(answer, block)
            if block is not None:
                os.close(block)

    def _answer(self, message: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
        what = message.get("do")
        if what == "hello":
            return {"ok": True, "version": transport.VERSION, "python": platform.python_version()}, None
        if what == "start":
            return self._start(message)
        if self._host is None or what not in ("step", "place", "qpos", "state", "load"):
            raise ValueError(f"unknown request {what!r}")
        return {"ok": True, **getattr(self, "_" + what)(message)}, None

    def _start(self, message: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
        if message["model"] is not None and self._block is not None:
            # by now the client may be locked and run generated code: it must not make this process load files
            raise ValueError("this worker has its model; another one needs a worker of its own")
        self._host = None
        hosts = importlib.import_module(ENGINES[self._engine])
        if message["model"] is not None:
            self._sizes = {name: message["model"][name] for name in ("nq", "nv", "nu")}
            self._model = hosts.prepare(message["model"])
        worlds, fields = message["worlds"], message["fields"]
        self._host = hosts.Host(self._model, worlds, message["substeps"], fields, message["threads"], message["device"])
        state = int(self._host.state().shape[1])
        layout = transport.list_arrays(worlds, self._sizes, fields, state)
        block = None
        if not message["reuse"]:
            block = os.memfd_create("prefine-bridge")
            os.ftruncate(block, transport.count_bytes(layout))
            self._block = mmap.mmap(block, transport.count_bytes(layout))
        self._views = transport.view_arrays(self._block, layout)  # type: ignore[arg-type]  # made by the first start
        return {"ok": True, "engine": self._host.engine, "state": state}, block

    def _step(self, message: dict[str, Any]) -> dict[str, Any]:
        failed = self._host.step(self._views["ctrl"])
        self._views["ids"][: len(failed)] = failed
        for name, values in self._host.fields(None).items():
            self._views[name][:] = values
        return {"failed": len(failed)}

    def _place(self, message: dict[str, Any]) -> dict[str, Any]:
        count, views = message["count"], self._views
        ids = views["ids"][:count]
        self._host.place(ids, views["start_qpos"][:count], views["start_qvel"][:count])
        for name, values in self._host.fields(ids).items():
            views[name][ids] = values
        return {}

    def _qpos(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"qpos": [float(value) for value in self._host.qpos(message["world"])]}

    def _state(self, message: dict[str, Any]) -> dict[str, Any]:
        self._views["state"][:] = self._host.state()
        return {}

    def _load(self, message: dict[str, Any]) -> dict[str, Any]:
        self._host.load(self._views["state"])
        return {}


def main() -> None:
    """Serve the client at the other end of the inherited socket, and end at once: there is nothing to save."""
    parser = argparse.ArgumentParser(prog="python -m simulation.bridge.engine_host")
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("descriptor", type=int)
    arguments = parser.parse_args()
    channel = transport.Channel(socket.socket(fileno=arguments.descriptor))
    Worker(arguments.engine, channel).serve()
    os._exit(0)


if __name__ == "__main__":
    main()
