"""A network line between a client and a server that can be cut, as when a cable is pulled: nothing arrives, nothing is
refused.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SO_ATTACH_FILTER = 26
DROP = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
"""A program of the kernel's socket filter that keeps nothing of any packet (RET 0)."""


class Line:
    """Passes on what a client sends to `port` here to the server's port on this machine, and back."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._near, self._far = [self._listener], list[socket.socket]()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """From now on the kernel drops every packet of the clients before TCP sees it, so nothing is acknowledged."""
        program = struct.pack("HP", 1, ctypes.addressof(DROP))
        for end in self._near:
            with suppress(OSError):  # closed already
                end.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)

    def close(self) -> None:
        for end in (*self._near, *self._far):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server))
                self._near.append(client)
                self._far.append(server)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=_copy, args=[source, target], daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def line(server: int) -> Iterator[Line]:
    made = Line(server)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def silent_server() -> Iterator[int]:
    """The port of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]
