"""Parameters as classes declare them."""

from typing import Annotated, Literal

import numpy as np
import pytest

from dsgkit.errors import DataError
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.estimators.parameters import (
    COUNT,
    POSITIVE,
    SEED,
    SHARE,
    Range,
    in_python,
    parameters,
)
from tests.estimators.small import arrays, made, rows_at


class Declared:
    lam: Annotated[float, POSITIVE]
    share: Annotated[float | Literal["estimate"], Range(0, 1, open_low=True, open_high=True)]
    step: Annotated[float, Range(0, 1, open_low=True)]
    n_iterations: Annotated[int | None, COUNT]
    balance: bool
    loss: Literal["hinge", "ramp"]
    seed: Annotated[int, SEED]
    gamma: Annotated[float | tuple[float, ...], SHARE]

    def __init__(
        self, lam=1.0, share=0.5, step=0.1, n_iterations=None, balance=True, loss="ramp", seed=0,
        gamma=0.5, width=3,
    ):  # fmt: skip
        pass


ACCEPTED = [
    *(("lam", 2, 2.0), ("lam", np.float32(0.5), 0.5), ("step", 1, 1.0)),
    *(("share", "estimate", "estimate"), ("share", 0.25, 0.25)),
    *(("n_iterations", None, None), ("n_iterations", 2.0, 2), ("n_iterations", np.int64(7), 7)),
    *(("balance", np.bool_(False), False), ("loss", np.str_("hinge"), "hinge")),
    ("seed", 2**64 - 1, 2**64 - 1),
    *(("width", 2.0, 2), ("width", 2.5, 2.5), ("width", "any", "any")),
    *(("gamma", 1, 1.0), ("gamma", [0, np.float64(0.5)], (0.0, 0.5))),
    ("gamma", np.ones(2), (1.0, 1.0)),
]
NUMBER, COUNTED = "must be a number > 0, got ", "must be a whole number >= 1 or null, got "
ESTIMATE = "must be a number strictly between 0 and 1 or 'estimate', got "
SHARES = "must be a number between 0 and 1 or a list of such numbers, got "
REFUSED = [
    *(("lam", 0, NUMBER + "0"), ("lam", [1.0], NUMBER + "[1.0]"), ("lam", True, NUMBER + "true")),
    *(("lam", None, NUMBER + "null"), ("lam", np.nan, NUMBER + "nan")),
    ("lam", 10**400, NUMBER + "1000"),
    *(("gamma", value, f"{SHARES}{value}") for value in ([], [0.5, 2], [0.5, True])),
    *(("share", 1, ESTIMATE + "1"), ("share", "guess", ESTIMATE + "'guess'")),
    ("step", 1.5, "must be a number > 0 and <= 1, got 1.5"),
    *(("n_iterations", 2.5, COUNTED + "2.5"), ("n_iterations", 0, COUNTED + "0")),
    ("n_iterations", 1e30, "must be <= 9223372036854775807, got 1e+30"),
    ("balance", 1, "must be true or false, got 1"),
    ("seed", 2**64, "must be a whole number between 0 and 18446744073709551615, got 1844"),
    ("loss", np.str_("square"), "must be 'hinge' or 'ramp', got 'square'"),
    *(("width", [1], "must be one value"), ("width", np.inf, "must be finite")),
]


@pytest.mark.parametrize(("name", "value", "expected"), ACCEPTED)
def test_a_value_becomes_what_the_class_takes(name, value, expected):
    parsed = parameters(Declared)[name].parse(value)
    assert parsed == expected and type(parsed) is type(expected)


@pytest.mark.parametrize(("name", "value", "text"), REFUSED)
def test_other_values_are_refused_in_words(name, value, text):
    with pytest.raises(ValueError) as error:
        parameters(Declared)[name].parse(value)
    assert str(error.value).startswith(text)


@pytest.mark.parametrize("name", SOLVERS)
def test_fits_and_searches_refuse_what_a_parameter_does_not_take_in_one_line(name):
    training = arrays(name)
    for key, parameter in SOLVERS[name].parameters.items():
        # `check_parameters` leaves classes to the labels
        for value in ([], [1.0, "a"], {}) if key != "classes" else ():
            with pytest.raises(ValueError) as parsed:
                parameter.parse(value, in_python)
            with pytest.raises(DataError) as fitted:
                made(name, **{key: value}).fit(**training)
            with pytest.raises(DataError) as searched:
                made(name).fit_points([{key: value}], **training)
            assert str(fitted.value) == str(searched.value) == f"{key} {parsed.value}"
            assert "\n" not in str(fitted.value)


@pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")
@pytest.mark.parametrize("name", ["qsg_s2auc", "nystrom_s2auc", "cuu", "bsgd_lmoc", "bgs3vm"])
def test_random_states_of_any_kind(name):
    """A generator's state gives one seed to each fit; None another one every time."""
    training, rows = arrays(name), rows_at(arrays(name))

    def values(state):
        return made(name).set_params(random_state=state).fit(**training).decision_function(rows)

    seed, state = np.random.RandomState(3).randint(2**31), np.random.RandomState(3)
    np.testing.assert_array_equal(values(state), values(seed))
    assert state.randint(2**31) != seed  # it went on
    assert np.isfinite(values(None)).any()
