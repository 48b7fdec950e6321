"""What both ends of the bridge share: frames over a local socket, tensors in shared memory.

Runs under Python 3.8 with the standard library and numpy alone, because IsaacGym's interpreter is that old.

A frame is the length of a JSON object, four bytes big-endian, and the object. The client asks, the worker answers each
request with one frame: {"ok": true, ...} or {"ok": false, "error": "..."}. Tensors never travel: they lie in one block
of anonymous shared memory that the worker makes when it starts a physics, and whose descriptor comes with the answer.

    hello   {version}                             -> {version, python}
    start   {model, worlds, substeps, fields, threads, device, reuse}
                                                  -> {engine, state}   and the block, unless `reuse`
    step    ctrl in the block                     -> {failed}   ids of the failed worlds and all fields in the block
    place   {count}, ids, start_qpos, start_qvel  -> {}         their fields in the block
    qpos    {world}                               -> {qpos}     float64, as numbers
    state   -> {}   load -> {}                                  `state` in the block
"""

from __future__ import annotations

import array
import json
import mmap
import os
import select
import socket
import struct
from typing import Any

import numpy as np

VERSION = 1
LENGTH = struct.Struct(">I")
LONGEST = 16 << 20
"""Bytes of a frame; a model's description is the longest."""
ALIGNMENT = 64


class BridgeLost(RuntimeError):
    """The other end of the bridge has gone, hangs, or does not speak the protocol."""


class Channel:
    """Frames over one end of a Unix stream socket. Not for several threads at once.

    After the block has arrived only poll, read and write are called, which a locked process may.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._poll = select.poll()
        self._poll.register(end.fileno(), select.POLLIN)

    def send(self, message: dict[str, Any], block: int | None = None) -> None:
        """Send one frame, with the descriptor of a shared block where one is given. Raises BridgeLost."""
        body = json.dumps(message).encode()
        data = LENGTH.pack(len(body)) + body
        try:
            if block is not None:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [block]))]
                self._socket.sendmsg([data[:1]], rights)
                data = data[1:]
            while data:
                data = data[os.write(self._socket.fileno(), data) :]
        except (BrokenPipeError, ConnectionError) as error:
            raise BridgeLost("the connection is closed") from error

    def receive(self, timeout: float | None = None) -> dict[str, Any]:
        """The next frame. Raises BridgeLost when there is none within `timeout` seconds, or it is no frame."""
        return self._read_frame(b"", timeout)

    def receive_block(self, timeout: float | None = None) -> tuple[dict[str, Any], int | None]:
        """The next frame and the descriptor that came with it, if one did."""
        self._wait(timeout)
        size = array.array("i").itemsize
        try:
            first, ancillary, _, _ = self._socket.recvmsg(1, socket.CMSG_LEN(size))
        except ConnectionError as error:
            raise BridgeLost("the connection is closed") from error
        if not first:
            raise BridgeLost("the connection is closed")
        descriptors = array.array("i")
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(data[:size])
        return self._read_frame(first, timeout), descriptors[0] if descriptors else None

    def close(self) -> None:
        """Close the connection, which the other end notices."""
        self._socket.close()

    def _read_frame(self, begun: bytes, timeout: float | None) -> dict[str, Any]:
        (length,) = LENGTH.unpack(self._read_exactly(LENGTH.size, begun, timeout))
        if length > LONGEST:
            raise BridgeLost("the other end does not speak the bridge's protocol")
        try:
            message = json.loads(self._read_exactly(length, b"", timeout))
        except ValueError as error:
            raise BridgeLost("the other end does not speak the bridge's protocol") from error
        if not isinstance(message, dict):
            raise BridgeLost("the other end does not speak the bridge's protocol")
        return message

    def _read_exactly(self, count: int, data: bytes, timeout: float | None) -> bytes:
        while len(data) < count:
            self._wait(timeout)
            try:
                more = os.read(self._socket.fileno(), count - len(data))
            except ConnectionError as error:
                raise BridgeLost("the connection is closed") from error
            if not more:
                raise BridgeLost("the connection is closed")
            data += more
        return data

    def _wait(self, timeout: float | None) -> None:
        if not self._poll.poll(None if timeout is None else timeout * 1000):
            raise BridgeLost(f"no answer within {timeout:g} s")


def list_arrays(
    worlds: int, model: dict[str, Any], fields: dict[str, list[int]], state: int
) -> list[tuple[str, str, Any]]:
    """(name, numpy type, shape) of every array in the block, in order. `fields` are name -> shape of one world's."""
    inputs = [
        ("ctrl", "f4", (worlds, model["nu"])),
        ("ids", "i8", (worlds,)),
        ("start_qpos", "f4", (worlds, model["nq"])),
        ("start_qvel", "f4", (worlds, model["nv"])),
        ("state", "f8", (worlds, state)),
    ]
    return inputs + [(name, "f4", (worlds, *shape)) for name, shape in fields.items()]


def count_bytes(layout: list[tuple[str, str, Any]]) -> int:
    """Bytes of a block that holds these arrays, one at least."""
    return max(ALIGNMENT, sum(_pad_size(kind, shape) for _, kind, shape in layout))


def view_arrays(block: mmap.mmap, layout: list[tuple[str, str, Any]]) -> dict[str, np.ndarray]:
    """The arrays, in the block's memory."""
    found, offset = {}, 0
    for name, kind, shape in layout:
        count = int(np.prod(shape, dtype=np.int64))
        found[name] = np.frombuffer(block, dtype=kind, count=count, offset=offset).reshape(shape)
        offset += _pad_size(kind, shape)
    return found


def _pad_size(kind: str, shape: tuple[int, ...]) -> int:
    length = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
    return -(-length // ALIGNMENT) * ALIGNMENT
