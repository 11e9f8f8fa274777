"""Classes composed of what they declare."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from typing_extensions import Doc

from dsgkit.solvers.base import Estimator
from dsgkit.solvers.common import Lam, RandomState
from dsgkit.solvers.declared import fitted, preset
from dsgkit.solvers.parameters import COUNT, parameters


class Base(Estimator):
    rounds: int = preset(3)
    coef_: NDArray[np.float64] = fitted("Coefficients.", "(n_inputs,)")
    hidden_: int = fitted()


class Ridge(Base):
    """Ridge regression.

    References
    ----------
    .. [1] Hoerl & Kennard, 1970.
    """

    tasks: ClassVar[tuple[str, ...]] = ("semi_supervised_auc",)

    lam: Lam = 0.5
    loss: Annotated[Literal["squared", "huber"], Doc("Loss.")] = "squared"
    _: KW_ONLY
    rounds: Annotated[int, COUNT, Doc("Rounds.")] = 7
    random_state: RandomState = 0

    n_iter_: int = fitted("Iterations.")


class Further(Ridge):
    """Ridge regression with a depth."""

    depth: Annotated[int | None, COUNT, Doc("Depth.")] = None
    lam: Annotated[Lam, Doc("Weight of the penalty.")] = 2.0


def names(solver: Any) -> list[str]:
    return list(inspect.signature(solver).parameters)


def test_the_constructor_has_the_declared_parameters():
    assert str(inspect.signature(Ridge)).startswith("(lam: float = 0.5, loss: ")
    assert names(Ridge) == ["lam", "loss", "rounds", "random_state"]
    model = Ridge(0.25, rounds=9)
    assert model.get_params() == {"lam": 0.25, "loss": "squared", "rounds": 9, "random_state": 0}
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).lam == 0.25
    assert repr(model) == "Ridge(lam=0.25, rounds=9)"


@pytest.mark.parametrize(
    ("args", "values", "text"),
    [
        ((), {"width": 1}, r"Ridge\(\) got an unexpected keyword argument 'width'"),
        ((1, "huber", 3), {}, r"Ridge\(\) too many positional arguments"),
        ((1,), {"lam": 1}, r"Ridge\(\) multiple values for argument 'lam'"),
    ],
)
def test_other_arguments_are_refused(args, values, text):
    with pytest.raises(TypeError, match=text):
        Ridge(*args, **values)


def test_parameters_are_inherited_and_declared_anew():
    assert names(Further) == ["lam", "loss", "depth", "rounds", "random_state"]
    assert Further().lam == 2.0 and Ridge().lam == 0.5
    assert parameters(Further)["lam"].per_model, "what an alias says besides the text stays"
    assert parameters(Further)["lam"].doc == "Weight of the penalty."


def test_a_preset_is_a_value_until_a_class_makes_it_a_parameter():
    assert Base.rounds == 3 and names(Base) == []
    assert Ridge().rounds == 7
    assert not hasattr(Ridge(), "coef_") and not hasattr(Ridge(), "n_iter_")  # before a fit


def test_the_docstring_describes_them():
    doc = inspect.getdoc(Further)
    assert doc.startswith("Ridge regression with a depth.\n\nParameters\n")
    for entry in (
        "lam : float > 0, default 2.0\n    Weight of the penalty.",
        "depth : int >= 1 or None, default None",
        'loss : {"squared", "huber"}, default "squared"',
        "coef_ : ndarray of shape (n_inputs,)\n    Coefficients.",
        "n_iter_ : int",
    ):
        assert f"\n{entry}\n" in f"{doc}\n"
    assert "hidden_" not in doc
    order = [Ridge.__doc__.index(title) for title in ("Parameters", "Attributes", "References")]
    assert order == sorted(order)


def test_a_class_keeps_a_constructor_and_sections_of_its_own():
    class Own(Ridge):
        """Own.

        Parameters
        ----------
        width : int
            Width.
        """

        depth: int = 3

        def __init__(self, width: int = 2) -> None:
            super().__init__(lam=0.125)
            self.width = width

    assert names(Own) == ["width"] and Own().lam == 0.125 and Own.depth == 3
    assert "width : int" in Own.__doc__ and "lam :" not in Own.__doc__


def test_a_type_that_nobody_knows_is_left_as_it_is():
    class Strange(Estimator):
        width: NoSuchType = 3  # noqa: F821

    assert Strange().width == 3
