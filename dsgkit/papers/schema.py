"""The claims of the papers as data: models of `published/KEY.yaml`, and their strict reading.

`dsgkit.papers.tests` says what the tests of the criteria compute.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)

from dsgkit.config.spec import Count, Problem, Spec, Text
from dsgkit.config.yaml import read_document
from dsgkit.errors import nearest_or_all, spelled
from dsgkit.published import bsgd_svc
from dsgkit.tasks.base import TASKS

MIN_TRIALS = 5

Read = TypeVar("Read", bound=Spec)


def one_of(names: Iterable[str]) -> AfterValidator:
    """Return a validator that accepts only these names."""
    known = tuple(names)

    def check(value: str) -> str:
        if value not in known:
            raise Problem(f"unknown name {spelled(value)}{nearest_or_all(value, known)}")
        return value

    return AfterValidator(check)


class Best(Spec):
    """The best of some solvers, chosen on each dataset by the mean (times: the median)."""

    best: Annotated[list[Text], Field(min_length=1)]


class Range(Spec):
    """Sizes from ``min`` to ``max``."""

    min: Count = 1
    max: Count | None = None


class Check(Spec):
    """Numbers of a study, all of a list, and their bounds: each a number or a key in the study."""

    number: Text
    at_least: float | Text | None = None
    at_most: float | Text | None = None


Limits = Annotated[list[float | None], Field(min_length=2, max_length=2)]  # None is no limit
Margin = Annotated[float, Field(ge=0)]
Methods = Annotated[list[Annotated[str, one_of(bsgd_svc.METHODS)]], Field(min_length=1)]
Positive = Annotated[float, Field(gt=0)]
Side = Annotated[  # one solver, several judged one by one, or the best of several
    list[Text] | Best, BeforeValidator(lambda x: [x] if isinstance(x, str) else x)
]


class Criterion(Spec):
    """What all criteria state: for which settings and on which datasets they are tested."""

    test: str
    by: Literal["protocol", "useful"]
    datasets: list[Text] | None = None  # by default all of the paper's file
    configs: list[Text] | None = None  # made for a claim
    trials: Annotated[int, Field(ge=2)] = MIN_TRIALS  # that must be finished for a comparison

    @property
    def on_results(self) -> bool:
        return self.test not in ("identity", "rate", "published")


_MUST, _MAY = ..., None  # be given
_SOLVERS: dict[str, Any] = {
    "a": (Side, _MUST),
    "measure": (Text, _MUST),  # or a clock (fit, clustering), or a diagnostic
    # largest: the largest at which all compared solvers have enough trials
    "sizes": (Literal["largest"] | Range, "largest"),
    "better": (Literal["higher", "lower"] | None, _MAY),  # if it is not the measure's own side
    # hyper-parameters of fits to leave out: at gamma = 1 SAMULT solves a smaller system
    "leave_out": (dict[str, Any], Field(default_factory=dict)),
}
_PAIRS = _SOLVERS | {"b": (Side, _MUST)}
_FIT = {"measure": (Text, "fit")}
_FASTER = _FIT | {"factor": (Positive, 1.0)}
_EVERY = {"sizes": (Range, Range())}
_INTERVAL = {"interval": (Limits, _MUST)}
_RATE = {
    "exponent": (float, _MUST),
    "tolerance": (Margin, _MUST),
    "one_sided": (bool, False),
    "x_min": (float, 0.0),
    "ends_below": (Positive | None, _MAY),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "faster": _PAIRS | _FASTER,
    "crosses": _PAIRS | _FASTER | _EVERY | {"at_most": (Count, _MUST)},
    "sooner": _PAIRS | {"margin": (Margin, 0.0), "of": (Literal["b", "better"], "b")},
    "ends": _PAIRS | _FIT | {"gib": (Positive, _MUST)},
    "equal": _PAIRS | {"margin": (Margin, _MUST), "one_sided": (bool, False)},
    "better": _PAIRS | {"least": (Margin, 0.0), "margin": (Margin | None, _MAY)},
    "count": _PAIRS,
    "best_of": _PAIRS,
    "ratio": _PAIRS | _INTERVAL,
    "within": _SOLVERS
    | _INTERVAL
    | {"of": (Literal["mean", "median"], "mean"), "around": (dict[str, float] | None, _MAY)},
    "grows": _SOLVERS
    | _INTERVAL
    | _EVERY
    | {"axis": (Text, "size"), "minus": (Text | None, _MAY)}
    | {"lengths": (Annotated[int, Field(ge=2)], 3)},
    "rate": {"study": (Text, _MUST), "x": (Text, _MUST), "y": (Text, _MUST)} | _RATE,
    "traced_rate": {"a": (Text, _MUST), "measure": (Text, _MUST)} | _RATE,
    "identity": {
        "study": (Text, _MUST),
        "checks": (Annotated[list[Check], Field(min_length=1)], _MUST),
    },
    "published": {"a": (Methods, _MUST), "b": (Methods, _MUST), "better": _SOLVERS["better"]}
    | {"measure": (Annotated[str, one_of(bsgd_svc.MEASURES)], _MUST), "strictly": (bool, False)}
    | {"least": (Count, _MUST)},
    "reproduced": {"measures": (Annotated[list[Text], Field(min_length=1)], _MUST)},
}
"""The settings of each test, with their types and defaults; `dsgkit.papers.tests` explains them."""

_TESTS: dict[str, dict[str, Any]] = {
    name: {"test": (Literal[name], _MUST), **settings} for name, settings in SETTINGS.items()
}
_MODELS = [create_model(name, __base__=Criterion, **fields) for name, fields in _TESTS.items()]
if TYPE_CHECKING:
    Judgement = Any
else:
    Judgement = Annotated[Union[tuple(_MODELS)], Field(discriminator="test")]  # noqa: UP007


def criterion(data: dict[str, Any]) -> Any:
    """Return a criterion as a paper's file has it."""
    return TypeAdapter(Judgement).validate_python({"by": "protocol", **data})


class Datasets(Spec):
    """The datasets of a paper by the names of their configs without the suffix."""

    own: list[Text] = Field(default_factory=list)
    stand_in: dict[str, Text] = Field(default_factory=dict)  # others, with descriptions
    absent: list[Text] = Field(default_factory=list)

    @property
    def judged(self) -> list[str]:
        return [*self.own, *self.stand_in]


class Profiles(Spec):
    """Profiles of judged results: the first one with results counts; ``""`` is no profile."""

    protocol: list[str]  # the paper's own settings
    useful: list[str] = Field(default_factory=list)  # those that fit the problems


class WhyNot(Spec):
    """Why a claim does not hold, and the kept study or experiment whose results show it."""

    words: Text
    shown_by: Text


class Claim(Spec):
    """A claim of a paper in our words, its place there, and the criteria, which must all hold."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+-[0-9]{2}$")]
    claim: Text
    place: Text
    kind: Literal["accuracy", "speed", "memory", "convergence", "robustness", "ranking", "theory"]
    own: bool = False  # a check of ours, which the paper does not claim
    reason: Text | None = None  # why it is judged by these criteria
    judged: list[Judgement] = Field(default_factory=list)
    untestable: Text | None = None  # why there are no criteria
    why_not: WhyNot | None = None

    @model_validator(mode="after")
    def _judged_or_not(self) -> Claim:
        if bool(self.judged) == (self.untestable is not None):
            raise Problem("needs criteria, or else a text why it is not testable", "judged")
        return self


class Erratum(Spec):
    """What is printed at a place of a paper, what is right or open, and what shows it."""

    place: Text
    printed: Text
    right: Text
    shown_by: Text | None = None  # a test `path::name`, a study or a claim; None: the paper itself


class Paper(Spec):
    """The claims of one paper, and its errata."""

    number: Count  # position among the papers
    key: Text
    title: Text
    citation: Text
    task: Annotated[str, one_of(TASKS)]
    suffix: Text  # of the names of its configs, <dataset>_<suffix>.yaml
    notes: list[Text] = Field(default_factory=list)
    headlines: dict[str, Text] = Field(default_factory=dict)  # main claims by id, in short texts
    profiles: Profiles
    datasets: Datasets
    claims: Annotated[list[Claim], Field(min_length=1)]
    errata: list[Erratum] = Field(default_factory=list)

    @model_validator(mode="after")
    def _own_datasets(self) -> Paper:
        for i, claim in enumerate(self.claims):
            for j, criterion in enumerate(claim.judged):
                if unknown := {*(criterion.datasets or ())} - {*self.datasets.judged}:
                    text = f"not a dataset of the paper: {min(unknown)}"
                    raise Problem(text, "claims", i, "judged", j, "datasets")
        return self


@cache
def papers() -> tuple[Paper, ...]:
    folder = Path(str(files("dsgkit.published")))
    # skip other files of a paper, such as <key>_figures.yaml
    paths = [path for path in sorted(folder.glob("*.yaml")) if "_" not in path.stem]
    every = [read_strictly(path, Paper, "judged") for path in paths]
    return tuple(sorted(every, key=lambda paper: paper.number))


def read_strictly(path: Path, schema: type[Read], choices: str) -> Read:
    """Read a data file of a paper; ``choices`` is the key of its lists of entries of several kinds.

    A `ConfigError` names the first error, with its place in the file.
    """
    document = read_document(path, own=True)
    try:
        return schema.model_validate(document.data)
    except ValidationError as error:
        # a mistyped key is also a missing one; the deepest of a union's problems says most
        first: Any = min(
            error.errors(), key=lambda e: (e["type"] != "extra_forbidden", -len(e["loc"]))
        )
    keys = [*first["loc"], *getattr(first.get("ctx", {}).get("error"), "at", ())]
    if choices in keys[:-2]:  # pydantic adds the kind of an entry, which is not a key
        del keys[keys.index(choices) + 2]
    text = first["msg"].removeprefix("Value error, ")
    raise document.error(tuple(keys), f"{keys[-1]}: {text}" if keys else text)
