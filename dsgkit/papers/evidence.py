"""Results by which figures of the papers are drawn."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dsgkit.errors import ResultsError
from dsgkit.experiment import frames
from dsgkit.experiment.folder import cell_of
from dsgkit.experiment.results import Results, load_results
from dsgkit.experiment.runs import Run, new_run
from dsgkit.papers.judge import results_folders
from dsgkit.text import tracked


class Case(NamedTuple):
    """The results on one dataset."""

    name: str
    results: Results

    @property
    def run(self) -> Run:
        """The results as a run."""
        one = self.results
        records = {record["key"]: record for record in one.records}
        planned = one.plan.cells if one.plan else [*map(cell_of, one.records)]
        cells = [(cell, records.get(cell.key)) for cell in planned]
        fits = frames.fits_of(cells, one.plan.left_out if one.plan else ())
        return new_run(one.folder, one.experiment, one.task, one.data, fits, cells)


@dataclass(frozen=True)
class Evidence:
    """Results by the experiment's name, profile included."""

    folders: Mapping[str, Results] = field(default_factory=dict)

    def case(self, name: str, config: str, profiles: Sequence[str]) -> Case | None:
        """Return the results of a config by the first profile that has any."""
        for profile in profiles:
            results = self.folders.get(f"{config}-{profile}" if profile else config)
            if results is not None and len(results.cells):
                return Case(name, results)
        return None


def read_evidence(paths: Sequence[Path], names: Container[str] | None = None) -> Evidence:
    """Read results folders, and folders of results folders, as `judge.read_kept` does."""
    folders: dict[str, Results] = {}
    found = [folder for path in paths for folder in results_folders(path, names)]
    for folder in tracked(found, "reading results"):
        results = load_results(folder)
        name = results.experiment.name
        if name in folders:
            raise ResultsError(
                f"{folder}: holds {name}, as {folders[name].folder} does; name one of them"
            )
        folders[name] = results
    return Evidence(folders)
