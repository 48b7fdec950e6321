import dataclasses

import pytest

from llm.method import Option, find_temperature
from llm.methods import METHODS, OFFERED
from llm.replay import advance
from tests.llm.experiment import PROBLEM, Experiment

SWITCH, COUNT = Option("reasons", True, "..."), Option("islands", 3, "...", low=1, high=16)
SHARE, CHOICE = Option("beta", -1.0, "..."), Option("negative", "judge", "...", choices=("judge", "uniform"))


@pytest.mark.parametrize(
    ("option", "given", "value"),
    [
        (SWITCH, "false", False),
        (SWITCH, "Yes", True),
        (SWITCH, False, False),
        (COUNT, "4", 4),
        (COUNT, 4.0, 4),
        (SHARE, " 0.5", 0.5),
        (SHARE, 2, 2.0),
        (CHOICE, "uniform", "uniform"),
    ],
)
def test_a_value_is_read_as_the_options_type(option, given, value):
    read = option.read(given)
    assert (read, type(read)) == (value, type(option.default))


@pytest.mark.parametrize(
    ("option", "given", "message"),
    [
        (SWITCH, "perhaps", "'perhaps' is not true or false"),
        (COUNT, "4.5", "is not a whole number"),
        (COUNT, "0", "is not between 1 and 16"),
        (COUNT, True, "is not a whole number"),
        (SHARE, "nan", "is not a number"),
        (CHOICE, "chance", "'chance' is not judge or uniform"),
    ],
)
def test_what_is_no_value_is_refused(option, given, message):
    with pytest.raises(ValueError, match=message):
        option.read(given)


def test_only_what_differs_from_the_defaults_is_kept():
    method = METHODS["revolve_human"]
    assert method.settings({"islands": "3", "reasons": "false"}) == {"reasons": False}
    with pytest.raises(ValueError, match="has no option 'magic'; it has: islands, reasons"):
        method.settings({"magic": 1})


def test_options_are_part_of_every_fingerprint():
    plain, pure = (Experiment(options=options).advance([]) for options in ({}, {"reasons": False}))
    assert plain.requests == pure.requests
    assert plain.fingerprint(0) != pure.fingerprint(0)
    assert plain.fingerprint(0) == Experiment(options={"reasons": True}).advance([]).fingerprint(0)


def test_a_replay_refuses_an_option_that_the_method_does_not_have():
    with pytest.raises(ValueError, match="OpenLoop has no option 'reasons'; it has: temperature,"):
        advance("open_loop", PROBLEM, 1, 3, 3, [], {"reasons": False})


@pytest.mark.parametrize("method", OFFERED.values(), ids=lambda m: m.name)
def test_every_default_is_a_value_of_its_option_and_of_the_function(method):
    for option in method.options:
        assert option.read(option.default) == option.default
        assert option.help.endswith(".")
    steps = method.function(PROBLEM, __import__("random").Random(1), method.k, method.n, **_all(method))
    assert next(steps)
    assert method.k >= method.least_k
    assert dataclasses.is_dataclass(method)


def _all(method):
    return {option.name: option.default for option in method.options}


def test_a_temperature_is_every_methods_that_asks_a_model_and_no_functions():
    """It changes what is asked, so a replay with another one stops."""
    for method in OFFERED.values():
        assert ("temperature" in {option.name for option in method.all_options}) == method.writes
    given = METHODS["icpl"].settings({"temperature": "0.1", "temperature_judge": -1, "reasons": False})
    assert given == {"temperature": 0.1, "reasons": False}
    assert METHODS["icpl"].select_own(given) == {"reasons": False}
    assert find_temperature(given, "judge") == find_temperature(given, "writer") == 0.1
    assert find_temperature({"temperature_judge": 0.0}, "judge") == 0.0
    assert find_temperature({}, "judge") is find_temperature({"temperature_judge": 0.0}, "writer") is None
    with pytest.raises(ValueError, match="not between 0 and 2"):
        METHODS["icpl"].settings({"temperature": 3})
    one, other = (advance("icpl", PROBLEM, 1, 3, 3, [], {"temperature": value}) for value in (0.1, 0.2))
    assert one.requests == other.requests and one.fingerprint(0) != other.fingerprint(0)
