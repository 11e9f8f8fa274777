"""The claims of the papers: schema and reader of a file per paper in `dsgkit.published`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from dsgkit.config.spec import Count, Problem, Spec, Text
from dsgkit.papers.accuracy import AtLeastAsGood, BestOf, BetterThan, Equal
from dsgkit.papers.criteria import Criterion, one_of
from dsgkit.papers.growth import Grows, Rate
from dsgkit.papers.numbers import Identity, Ratio, Within
from dsgkit.papers.printed import Audited, Published, Reproduced
from dsgkit.papers.reading import read_strictly
from dsgkit.papers.times import Crosses, Ends, Faster, Sooner
from dsgkit.tasks.base import TASKS

N_HEADLINES = 3
"""Number of claims of a paper in an overview of all papers."""

Judgement = Annotated[
    Faster
    | Crosses
    | Sooner
    | Ends
    | Equal
    | BetterThan
    | BestOf
    | AtLeastAsGood
    | Grows
    | Rate
    | Within
    | Ratio
    | Identity
    | Published
    | Audited
    | Reproduced,
    Field(discriminator="test"),
]


class Datasets(Spec):
    """The datasets of a paper, by the names of their configs without the suffix.

    Attributes
    ----------
    own : list of str
        Datasets of the paper.
    stand_in : dict
        Further judged datasets, each with a description.
    absent : list of str
        Datasets of the paper that are not available.
    """

    own: list[Text] = Field(default_factory=list)
    stand_in: dict[str, Text] = Field(default_factory=dict)
    absent: list[Text] = Field(default_factory=list)

    @property
    def judged(self) -> list[str]:
        """The datasets on which claims are judged."""
        return [*self.own, *self.stand_in]


class Profiles(Spec):
    """Profiles of judged results: the first one with results counts; ``""`` is no profile.

    Attributes
    ----------
    protocol : list of str
        The paper's own settings.
    useful : list of str
        Settings that fit the problems.
    """

    protocol: list[str]
    useful: list[str] = Field(default_factory=list)


class WhyNot(Spec):
    """The explanation of a claim that does not hold.

    Attributes
    ----------
    study, config : str or None
        The kept study or config whose results support it.
    """

    words: Text
    study: Text | None = None
    config: Text | None = None

    @model_validator(mode="after")
    def _backed(self) -> WhyNot:
        if (self.study is None) == (self.config is None):
            raise Problem("needs the study or the config whose kept result shows it")
        return self

    @property
    def shown_by(self) -> str:
        """Name of the study or config."""
        return str(self.study or self.config)


class Claim(Spec):
    """One claim of a paper.

    Attributes
    ----------
    claim : str
        Its statement, in our words.
    place : str
        Where the paper states it.
    judged : list of Criterion
        Criteria; all of a profile must hold.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+-[0-9]{2}$")]
    claim: Text
    place: Text
    kind: Literal["accuracy", "speed", "memory", "convergence", "robustness", "ranking", "theory"]
    judged: Annotated[list[Judgement], Field(min_length=1)]
    why_not: WhyNot | None = None


class Paper(Spec):
    """The claims of one paper.

    Attributes
    ----------
    number : int
        Its position among the papers.
    task : str
        The task of its configs.
    suffix : str
        Suffix of its configs: ``<dataset>_<suffix>.yaml``.
    headlines : dict of str to str
        Ids of the three main claims, each with its statement.
    """

    number: Count
    key: Text
    title: Text
    citation: Text
    task: Annotated[str, one_of(TASKS)]
    suffix: Text
    notes: list[Text] = Field(default_factory=list)
    headlines: dict[str, Text] = Field(default_factory=dict)
    profiles: Profiles
    datasets: Datasets
    claims: Annotated[list[Claim], Field(min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Paper:
        repeated = [name for name, n in Counter(one.id for one in self.claims).items() if n > 1]
        if repeated:
            raise Problem(f"two claims are called {repeated[0]}", "claims")
        unknown = set(self.headlines) - {one.id for one in self.claims}
        if unknown or len(self.headlines) not in (0, N_HEADLINES):
            message = f"no such claim: {min(unknown)}" if unknown else f"must be {N_HEADLINES}"
            raise Problem(message, "headlines")
        for i, claim in enumerate(self.claims):
            if not claim.id.startswith(f"{self.key}-"):
                raise Problem(f"must begin with {self.key}-", "claims", i, "id")
            for j, criterion in enumerate(claim.judged):
                unknown = set(criterion.datasets or ()) - set(self.datasets.judged)
                if unknown:
                    message = f"not a dataset of the paper: {sorted(unknown)[0]}"
                    raise Problem(message, "claims", i, "judged", j, "datasets")
        return self


def read_paper(path: Path) -> Paper:
    """Read the claims of one paper; errors are those of `read_strictly`."""
    return read_strictly(path, Paper, "judged")


@cache
def papers() -> tuple[Paper, ...]:
    """Return the claims of all papers, in their order."""
    folder = Path(str(files("dsgkit.published")))
    # skip other files of a paper, such as <key>_figures.yaml
    paths = [path for path in sorted(folder.glob("*.yaml")) if "_" not in path.stem]
    every = [read_paper(path) for path in paths]
    return tuple(sorted(every, key=lambda paper: paper.number))


def criteria(paper: Paper) -> Iterator[tuple[Claim, Criterion]]:
    """Yield every criterion of a paper with its claim."""
    for claim in paper.claims:
        for criterion in claim.judged:
            yield claim, criterion
