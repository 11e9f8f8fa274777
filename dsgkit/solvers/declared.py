"""Generate the constructors and docstrings of estimators from their declared parameters.

::

    class Ridge(Estimator):
        \"\"\"Ridge regression.\"\"\"

        lam: Lam = 0.125
        _: KW_ONLY
        random_state: RandomState = 0

        coef_: Array = fitted("Coefficients.", "(n_inputs,)")

is a class with the constructor ``(lam=0.125, *, random_state=0)``, which stores its arguments as
attributes, and a docstring with the sections Parameters and Attributes. A class that defines its
own constructor keeps it.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, get_origin, get_type_hints

from dsgkit.solvers.parameters import parameters

DOCSTRING_WIDTH = 92
"""Characters per line of a docstring."""

_SECTION = re.compile(r"(?m)^\w[\w ]*\n-{3,}$")


@dataclass(frozen=True)
class Fitted:
    """An attribute that a fit sets: its description, and its shape if it is an array.

    Attributes without a description are not listed in docstrings.
    """

    text: str = ""
    shape: str = ""


@dataclass(frozen=True)
class Preset:
    """The value of an attribute that only some subclasses declare as a parameter."""

    value: Any


def preset(value: Any, *, init: Literal[False] = False) -> Any:
    """Declare an attribute that a subclass may make a parameter; see `Preset`."""
    return Preset(value)


def fitted(text: str = "", shape: str = "", *, init: Literal[False] = False) -> Any:
    """Declare an attribute that a fit sets; for the arguments see `Fitted`."""
    return Fitted(text, shape)


def compose(kind: Any) -> None:
    """Set the constructor and the docstring of a class from its declarations."""
    own = _own_parameters(kind)
    kind._attributes = _own_fitted(kind)
    for name, value in list(vars(kind).items()):
        if isinstance(value, Preset):
            setattr(kind, name, value.value)
    if "__init__" in vars(kind):
        return
    if own:
        kind.__init__ = _constructor(kind, own)
    if hasattr(kind.__init__, "__signature__") and (doc := vars(kind).get("__doc__")):
        kind.__doc__ = _with_sections(doc, kind)


def _annotations(kind: type) -> Mapping[str, Any]:
    """Return the annotations in the body of a class, without those of class variables."""
    hints = inspect.get_annotations(kind)
    return {name: hint for name, hint in hints.items() if not _is_class_variable(hint)}


def _is_class_variable(hint: Any) -> bool:
    if isinstance(hint, str):
        return hint.startswith(("ClassVar", "typing.ClassVar"))
    return hint is ClassVar or get_origin(hint) is ClassVar


def _types(kind: type) -> Mapping[str, Any]:
    """Return the types of a class's annotations without their metadata; {} if one is unknown."""
    try:
        return get_type_hints(kind)
    except NameError:
        return {}


def _own_parameters(kind: type) -> list[inspect.Parameter]:
    """Return the parameters in a class's body: annotated names with a default."""
    place: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = []
    types = _types(kind)
    for name, hint in _annotations(kind).items():
        if hint in (KW_ONLY, "KW_ONLY"):
            place = inspect.Parameter.KEYWORD_ONLY
        elif not name.startswith("_") and name in vars(kind):
            default = vars(kind)[name]
            if not isinstance(default, Fitted | Preset):
                own.append(
                    inspect.Parameter(
                        name, place, default=default, annotation=types.get(name, hint)
                    )
                )
    return own


def _own_fitted(kind: type) -> dict[str, Fitted]:
    """Remove the fitted attributes from a class's body, and return them."""
    declared = {name: value for name, value in vars(kind).items() if isinstance(value, Fitted)}
    for name in declared:
        delattr(kind, name)
    return declared


def _constructor(kind: Any, own: list[inspect.Parameter]) -> Callable[..., None]:
    """Return a constructor with the parameters of the base classes and a class's own."""
    known: dict[str, inspect.Parameter] = {}
    for base in reversed(kind.__bases__):
        inherited = getattr(base.__init__, "__signature__", None)
        known |= inherited.parameters if inherited else {}
    known.pop("self", None)
    known |= {p.name: p.replace(kind=known[p.name].kind) if p.name in known else p for p in own}
    ordered = sorted(known.values(), key=lambda p: p.kind)
    signature = inspect.Signature(ordered)

    def __init__(self: Any, *args: Any, **values: Any) -> None:  # noqa: N807
        try:
            bound = signature.bind(*args, **values)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}() {error}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = inspect.Signature([self, *ordered])  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{kind.__qualname__}.__init__"
    __init__.__module__ = kind.__module__
    return __init__


def _with_sections(doc: str, kind: type) -> str:
    """Return a docstring with the sections Parameters and Attributes before its own sections."""
    text = inspect.cleandoc(doc)
    first = _SECTION.search(text)
    head, rest = (text[: first.start()], text[first.start() :]) if first else (text, "")
    sections = [
        _section("Parameters", _parameter_entries(kind)) if "Parameters\n---" not in rest else "",
        _section("Attributes", _fitted_entries(kind)) if "Attributes\n---" not in rest else "",
    ]
    return "\n\n".join(part.strip("\n") for part in (head, *sections, rest) if part.strip()) + "\n"


def _section(title: str, entries: Iterator[tuple[str, str]]) -> str:
    lines = [line for head, text in entries for line in (head, *_wrapped(text))]
    return "\n".join([title, "-" * len(title), *lines]) if lines else ""


def _wrapped(text: str) -> list[str]:
    indent = "    "
    return textwrap.wrap(
        text,
        DOCSTRING_WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def _parameter_entries(kind: type) -> Iterator[tuple[str, str]]:
    for name, parameter in parameters(kind).items():
        yield f"{name} : {parameter.numpydoc}", parameter.doc


def _fitted_entries(kind: type) -> Iterator[tuple[str, str]]:
    attributes: dict[str, tuple[type, Fitted]] = {}
    for base in reversed(kind.__mro__):
        attributes |= {
            n: (base, declared) for n, declared in vars(base).get("_attributes", {}).items()
        }
    for name, (base, declared) in attributes.items():
        if declared.text:
            array = f"ndarray of shape {declared.shape}"
            kind_of = array if declared.shape else _annotations(base)[name]
            yield f"{name} : {kind_of}", declared.text
