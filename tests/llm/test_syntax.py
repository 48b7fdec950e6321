"""Parsing in many threads: CPython 3.11 counts the depth of all threads' trees in one place."""

import ast
import gc
import sys
import threading

import pytest

from llm import extract, syntax

DEEP = "x = " + 80 * "(" + "a" + 80 * " + b)"
FLAT = "y = 1"
ROUNDS = 150


class Cycle:
    """Garbage whose collection runs Python code, and so may let another thread run."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        for _ in range(20):
            pass


@pytest.fixture
def frequent_collections():
    """Threads take turns, and garbage is collected, as often as can be."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50, 5, 5)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)


def repeat(task, errors):
    for _ in range(ROUNDS):
        for _ in range(5):
            Cycle()
        try:
            task()
        except SystemError as error:
            errors.append(error)


def run(*tasks):
    """The SystemErrors of these tasks, each repeated in a thread of its own."""
    errors = [[] for _ in tasks]
    threads = [threading.Thread(target=repeat, args=pair) for pair in zip(tasks, errors, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.slow
def test_many_threads_may_parse_at_once(frequent_collections):
    found = []
    ours = [
        lambda: found.append(ast.dump(extract.parse(DEEP))),
        lambda: found.append(ast.dump(syntax.parse_module(DEEP))),
        lambda: syntax.parse_expression("a + 1"),
        lambda: extract.parse(FLAT),
    ]
    assert run(*ours) == [[], [], [], []]
    assert len(found) == 2 * ROUNDS and set(found) == {ast.dump(ast.parse(DEEP))}


def test_a_thread_of_somebody_else_may_parse_meanwhile(frequent_collections):
    """As the logging of a traceback does; theirs may fail, ours must not."""
    ours, _, _ = run(lambda: syntax.parse_module(DEEP), lambda: ast.parse(FLAT), lambda: ast.parse(FLAT))
    assert ours == []


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_collection_is_afterwards_as_it_was_before(collecting):
    before = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        syntax.parse_module(FLAT)
        with pytest.raises(SyntaxError):
            syntax.parse_expression("a +")
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if before else gc.disable)()
