import ast
import os
import signal
import socket
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from simulation.bridge import connection, engine_host, transport
from simulation.bridge.connection import Bridge, BridgeError
from simulation.environment import Environment
from tests.simulation.test_environment import actions_for, advance, assert_same

pytestmark = pytest.mark.slow

BRIDGE = Path(connection.__file__).parent
OLD_PYTHON = ["__init__.py", "transport.py", "engine_host.py", "isaacgym/__init__.py", "isaacgym/host.py"]


@pytest.fixture(scope="module")
def ant_bridge():
    """A worker simulates one model; its start takes two seconds of processor time."""
    bridge = Bridge("mujoco")
    yield bridge
    bridge.close()


@pytest.fixture(scope="module")
def bridge():
    """For Cartpole."""
    bridge = Bridge("mujoco")
    yield bridge
    bridge.close()


def test_an_environment_through_the_bridge_is_the_same_bit_for_bit(ant_bridge):
    beside = Environment("Ant", 3, groups=2, seed=3)
    through = Environment("Ant", 3, groups=2, seed=3, start=ant_bridge)
    for step in range(20):
        expected, found = beside.step(actions_for(beside, step)), through.step(actions_for(through, step))
        for name, value in vars(expected).items():
            assert torch.equal(value, getattr(found, name)), name
        assert_same(beside.attributes, through.attributes)
        ended = torch.arange(6) % 5 == step % 5
        beside.reset(ended)
        through.reset(ended)
    assert (beside.qpos(4) == through.qpos(4)).all()
    for env in (beside, through):
        env.keep([1])
        advance(env, 20, 23)
    assert_same(beside.attributes, through.attributes)
    through.load_state_dict(beside.state_dict())
    assert torch.equal(beside.state_dict()["physics"], through.state_dict()["physics"])


def test_a_diverging_world_is_reported_through_the_bridge(ant_bridge):
    env = Environment("Ant", 4, start=ant_bridge)
    state = env.state_dict()
    state["physics"][2, 1 + env.model.nq] = float("nan")
    env.load_state_dict(state)
    assert env.step(torch.zeros(4, 8)).diverged.tolist() == [False, False, True, False]
    assert env.obs_buf.isfinite().all()


def test_a_worker_that_simulates_loads_no_other_file(bridge, tmp_path):
    """The client is locked by then, the worker is not: generated code that takes over the client ends there."""
    env = Environment("Cartpole", 2, start=bridge)
    crafted = {"nq": 2, "nv": 2, "nu": 1, "binary": str(tmp_path / "crafted.mjb")}
    request = {"do": "start", "model": crafted, "worlds": 2, "substeps": 1, "fields": {}, "threads": 1}
    with pytest.raises(BridgeError, match="refused: ValueError: this worker has its model"):
        bridge.ask(request | {"device": "cpu", "reuse": True})
    assert not env.step(torch.zeros(2, 1)).diverged.any()


def test_a_lost_worker_is_a_clear_error_and_another_bridge_goes_on(bridge):
    other = Bridge("mujoco")
    unharmed, lost = (Environment("Cartpole", 2, start=start) for start in (bridge, other))
    os.kill(other.pid, signal.SIGKILL)
    with pytest.raises(BridgeError, match=r"the bridge to mujoco is lost: .* ended with status -9"):
        lost.step(torch.zeros(2, 1))
    assert not unharmed.step(torch.zeros(2, 1)).diverged.any()
    other.close()


def test_a_worker_of_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(transport, "VERSION", 7)
    with pytest.raises(BridgeError, match="speaks version 1 of the protocol, this program version 7"):
        Bridge("mujoco")


def test_a_missing_interpreter_and_a_missing_engine_are_clear_errors():
    with pytest.raises(BridgeError, match="/no/python cannot be started: No such file"):
        Bridge("mujoco", python="/no/python")
    absent = Bridge("isaacgym")
    with pytest.raises(BridgeError, match="isaacgym behind the bridge refused: ModuleNotFoundError: No module named"):
        Environment("Cartpole", 1, start=absent)
    absent.close()


def test_what_the_engine_refuses_comes_back_and_the_worker_lives_on(bridge):
    with pytest.raises(BridgeError, match="mujoco behind the bridge refused: ValueError: unknown request 'dance'"):
        bridge.ask({"do": "dance"})
    env = Environment("Cartpole", 2, start=bridge)
    with pytest.raises(BridgeError, match="refused"):
        Environment("Cartpole", 2000, start=bridge)  # more than the block holds
    assert env.info.name == "Cartpole"
    assert not Environment("Cartpole", 1, start=bridge).step(torch.zeros(1, 1)).diverged.any()


def test_the_worker_ends_when_its_client_does():
    bridge = Bridge("mujoco")
    process = bridge._process
    bridge.close()
    assert process.poll() == 0


@pytest.fixture
def connected_channels():
    """Both ends: our channel, and the bare socket of a peer that may say anything."""
    near, far = socket.socketpair()
    yield transport.Channel(near), far
    near.close()
    far.close()


@pytest.mark.parametrize(
    "sent", [b"HTTP/1.1 200 OK", transport.LENGTH.pack(3) + b"[1]", transport.LENGTH.pack(2) + b"{x"]
)
def test_what_is_no_frame_is_no_answer(connected_channels, sent):
    channel, peer = connected_channels
    peer.sendall(sent)
    with pytest.raises(transport.BridgeLost, match="does not speak the bridge's protocol"):
        channel.receive(30.0)


def test_silence_and_a_closed_line_are_noticed(connected_channels):
    channel, peer = connected_channels
    with pytest.raises(transport.BridgeLost, match="no answer within 0.01 s"):
        channel.receive(0.01)
    peer.close()
    with pytest.raises(transport.BridgeLost, match="the connection is closed"):
        channel.receive(30.0)


@pytest.mark.parametrize("name", OLD_PYTHON)
def test_the_far_end_is_written_in_python_3_8(name):
    """Syntax by the parser; that annotations are never evaluated, and zip knows no strict, by looking."""
    source = (BRIDGE / name).read_text()
    tree = ast.parse(source, feature_version=(3, 8))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert not [keyword for call in calls for keyword in call.keywords if keyword.arg == "strict"]
    assert not source or "from __future__ import annotations" in source
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not names & {"removeprefix", "removesuffix", "pairwise", "cache", "is_relative_to"}


def test_the_far_end_imports_nothing_of_ours_but_itself():
    for name in OLD_PYTHON:
        tree = ast.parse((BRIDGE / name).read_text())
        modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert all(not m.startswith(("simulation", "trainer")) or m == "simulation.bridge" for m in modules), name
    assert all(find_spec(module) for module in engine_host.ENGINES.values())


@pytest.mark.parametrize("receive", [transport.Channel.receive, transport.Channel.receive_block])
def test_a_worker_that_ends_before_it_has_read_is_a_lost_bridge(receive):
    here, there = socket.socketpair()
    channel = transport.Channel(here)
    channel.send({"do": "start"})
    there.close()
    with pytest.raises(transport.BridgeLost, match="the connection is closed"):
        receive(channel, 1.0)
    channel.close()
