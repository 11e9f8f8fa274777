"""Parameters as classes declare them."""

from typing import Annotated, Literal

import numpy as np
import pytest

from dsgkit.errors import DataError
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.estimators.parameters import (
    COUNT,
    PER_MODEL,
    POSITIVE,
    SEED,
    SHARE,
    OnePer,
    Parameter,
    Range,
    Smoother,
    parameters,
)
from tests.estimators.small import arrays, made, rows_at


class Declared:
    lam: Annotated[float, POSITIVE, PER_MODEL, Smoother("larger")]
    share: Annotated[float | Literal["estimate"], Range(0, 1, open_low=True, open_high=True)]
    step: Annotated[float, Range(0, 1, open_low=True)]
    n_iterations: Annotated[int | None, COUNT]
    balance: bool
    loss: Literal["hinge", "ramp"]
    seed: Annotated[int, SEED]
    gamma: Annotated[float | tuple[float, ...], SHARE, OnePer("n_cuts")]

    def __init__(
        self, lam=1.0, share=0.5, step=0.1, n_iterations=None, balance=True, loss="ramp", seed=0,
        gamma=0.5, width=3,
    ):  # fmt: skip
        pass


SHARES = "must be a number between 0 and 1 or a list of such numbers, got "


def parse(name, value):
    return parameters(Declared)[name].parse(value)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("lam", 2, 2.0),
        ("lam", np.float32(0.5), 0.5),
        ("share", "estimate", "estimate"),
        ("share", 0.25, 0.25),
        ("step", 1, 1.0),
        ("n_iterations", None, None),
        ("n_iterations", 2.0, 2),
        ("n_iterations", np.int64(7), 7),
        ("balance", np.bool_(False), False),
        ("loss", "hinge", "hinge"),
        ("seed", 2**64 - 1, 2**64 - 1),
        ("width", 2.0, 2),
        ("width", 2.5, 2.5),
        ("width", "any", "any"),
        ("gamma", 1, 1.0),
        ("gamma", [0, np.float64(0.5)], (0.0, 0.5)),
        ("gamma", np.ones(2), (1.0, 1.0)),
    ],
)
def test_a_value_becomes_what_the_class_takes(name, value, expected):
    parsed = parse(name, value)
    assert parsed == expected and type(parsed) is type(expected)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("lam", 0, "must be a number > 0, got 0"),
        ("lam", [1.0], "must be a number > 0, got [1.0]"),
        ("gamma", [], SHARES + "[]"),
        ("gamma", [0.5, 2], SHARES + "[0.5, 2]"),
        ("gamma", [0.5, True], SHARES + "[0.5, True]"),
        ("lam", True, "must be a number > 0, got true"),
        ("lam", None, "must be a number > 0, got null"),
        ("lam", np.nan, "must be a number > 0, got nan"),
        ("lam", 10**400, "must be a number > 0, got 1000"),
        ("share", 1, "must be a number strictly between 0 and 1 or 'estimate', got 1"),
        ("share", "guess", "must be a number strictly between 0 and 1 or 'estimate', got 'guess'"),
        ("step", 1.5, "must be a number > 0 and <= 1, got 1.5"),
        ("n_iterations", 2.5, "must be a whole number >= 1 or null, got 2.5"),
        ("n_iterations", 1e30, "must be <= 9223372036854775807, got 1e+30"),
        ("balance", 1, "must be true or false, got 1"),
        ("seed", 2**64, "must be a whole number between 0 and 18446744073709551615, got 1844"),
        ("loss", "square", "must be 'hinge' or 'ramp', got 'square'"),
        ("width", [1], "must be one value"),
        ("width", np.inf, "must be finite"),
    ],
)
def test_other_values_are_refused_in_words(name, value, text):
    with pytest.raises(ValueError) as error:
        parse(name, value)
    assert str(error.value).startswith(text)


def test_what_else_is_declared():
    known = parameters(Declared)
    assert list(known) == [*Declared.__annotations__, "width"]
    assert [name for name, p in known.items() if p.per_model] == ["lam"]
    assert {name: p.smoother for name, p in known.items() if p.smoother} == {"lam": "larger"}
    assert {name: p.one_per for name, p in known.items() if p.one_per} == {"gamma": "n_cuts"}


@pytest.mark.parametrize("name", SOLVERS)
def test_texts_of_numpy_are_texts(name):
    declared = SOLVERS[name].parameters
    texts = {key: p for key, p in declared.items() if isinstance(p.default, str)}
    texts |= {key: p for key, p in declared.items() if key == "unlabeled_label"}
    for parameter in texts.values():
        text = parameter.default if isinstance(parameter.default, str) else "none"
        assert type(parameter.parse(np.str_(text))) is str
    with pytest.raises(ValueError, match="must be 'a' or 'b', got 'c'"):
        Parameter("word", "a", (str,), words=("a", "b")).parse(np.str_("c"))


def test_messages_of_estimators_are_in_python():
    model = SOLVERS["samult"].load()(lam=None)
    with pytest.raises(DataError, match="lam must be a number > 0, got None"):
        model.fit([[0.0], [1.0]], [0, 1])


@pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")
@pytest.mark.parametrize("name", ["qsg_s2auc", "nystrom_s2auc", "cuu", "bsgd_lmoc", "bgs3vm"])
def test_random_states_of_any_kind(name):
    """A generator's state gives one seed to each fit; None another one every time."""
    training, rows = arrays(name), rows_at(arrays(name))

    def values(state):
        return made(name).set_params(random_state=state).fit(**training).decision_function(rows)

    seed = np.random.RandomState(3).randint(2**31)
    state = np.random.RandomState(3)
    np.testing.assert_array_equal(values(state), values(seed))
    assert state.randint(2**31) != seed  # it went on
    assert np.isfinite(values(None)).any()
