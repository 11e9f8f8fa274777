"""The description of an experiment's task that its results folder keeps."""

from __future__ import annotations

import itertools

from dsgkit.config.schema import Experiment
from dsgkit.config.solvers import SolverSpec
from dsgkit.solvers import catalogue
from dsgkit.tasks.measures import STANDARD, Description, SolverFacts


def describe(experiment: Experiment) -> Description:
    """Return the description of an experiment's task, which is all that a report needs of it."""
    protocol = experiment.drawn
    stages = (stage for solver in experiment.solvers.values() for stage in solver.search)
    searches = any(len(values) > 1 for stage in stages for values in stage.choices.values())
    return Description(
        kind=protocol.kind,
        setting=protocol.setting,
        protocol=protocol.protocol,
        selection=protocol.selection,
        oracle=protocol.oracle if searches else "",
        axis=experiment.axis,
        measures=(*experiment.task.measures, *STANDARD),
        chooses=experiment.chooses,
        published=protocol.published(experiment.dataset.name),
        not_of_splits=protocol.not_of_splits,
        solvers={key: _facts(experiment, spec) for key, spec in experiment.solvers.items()},
    )


def _facts(experiment: Experiment, spec: SolverSpec) -> SolverFacts:
    """Return the facts about a solver for the results folder."""
    solver = catalogue.get(spec.kind)
    choices = [item for stage in spec.search for item in stage.choices.items()]
    values = [*spec.params.values(), *itertools.chain(*(grid for _, grid in choices))]
    return SolverFacts(
        told=experiment.protocol.oracle_data(solver.load(), values),
        ends={name: solver.parameters[name].range.ends for name, _ in choices},
    )
