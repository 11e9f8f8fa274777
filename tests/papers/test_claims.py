"""The files of claims: strictly read, true of configs and tasks, and told in sentences."""

import json
import re
from pathlib import Path

import pytest

from dsgkit.config.load import read_config
from dsgkit.config.schema import load_experiment
from dsgkit.errors import ConfigError
from dsgkit.papers.schema import Best, Paper, papers, read_strictly
from dsgkit.papers.sentences import sentence
from dsgkit.papers.tests import TESTS
from dsgkit.tasks import base as tasks
from dsgkit.tasks.measures import STANDARD
from tests.papers.judged import PAPER, config_named

ROOT = Path(__file__).parents[2]
MADE = {
    path: list(read_config(path).data.get("profiles", {}))
    for path in (ROOT / "configs" / "claims").glob("*.yaml")
}
DIAGNOSTICS = ("objective", "risk", "squared_norm", "symmetric_hinge_objective")
CLAIMS = [(paper, claim) for paper in papers() for claim in paper.claims]
JUDGEMENTS = [(paper, one) for paper, claim in CLAIMS for one in claim.judged]
IDS = [f"{claim.id}-{i}" for _, claim in CLAIMS for i in range(len(claim.judged))]


def solvers_of(name, profiles):
    """Return the solvers that a config has in any of some profiles; ``""`` is without one."""
    data = config_named(name)
    there = {"": {}, **data.get("profiles", {})}
    of_each = [{**data["solvers"], **there[p].get("solvers", {})} for p in profiles if p in there]
    assert of_each, "no profile of a config is judged"
    return {key for solvers in of_each for key, settings in solvers.items() if settings is not None}


def solvers_in(criterion):
    """Return the keys of the solvers that a criterion names."""
    sides = [getattr(criterion, name, None) or [] for name in ("a", "b", "minus")]
    keys = [one.best if isinstance(one, Best) else one for one in sides]
    return {key for one in keys for key in ([one] if isinstance(one, str) else one)}


def test_claims_are_numbered_and_three_of_a_paper_are_its_headlines():
    for paper in papers():
        ids = [claim.id for claim in paper.claims]
        assert ids == [f"{paper.key}-{i:02}" for i in range(1, len(ids) + 1)]
        assert len(paper.headlines) == 3 and {*paper.headlines} <= {*ids}


@pytest.mark.parametrize(("paper", "criterion"), JUDGEMENTS, ids=IDS)
def test_a_criterion_names_solvers_and_measures_that_there_are(paper, criterion):
    if not criterion.on_results:
        return
    assert {*(getattr(criterion, "around", None) or ())} <= {*(criterion.configs or ())}
    datasets = criterion.datasets or paper.datasets.judged
    for name in criterion.configs or [f"{name}_{paper.suffix}" for name in datasets]:
        profiles = getattr(paper.profiles, criterion.by)
        assert solvers_in(criterion) <= solvers_of(name, profiles)
        assert config_named(name)["protocol"]["kind"] == paper.task
    measures = (*tasks.get(paper.task).measures, *STANDARD)
    sides = {name: m.better for m in measures for name in (m.name, m.clock)}
    named = {getattr(criterion, "measure", None), *getattr(criterion, "measures", [])} - {None}
    assert named <= {*DIAGNOSTICS, *sides}
    if criterion.test in ("best_of", "count", "better", "sooner"):  # which values are good?
        assert criterion.better or sides[criterion.measure]


@pytest.mark.parametrize(("paper", "criterion"), JUDGEMENTS, ids=IDS)
def test_a_criterion_is_a_sentence_that_names_its_solvers_and_numbers(paper, criterion):
    labels = {key: f"<{key}>" for key in solvers_in(criterion)}
    text = sentence(criterion, [], labels, ["codrna", "skin", "dota2"])
    assert re.search(" supports? the claim if ", text)
    assert text.endswith(".") and "None" not in text
    assert all(label in text for label in labels.values())
    numbers = [getattr(criterion, name, 0) for name in ("margin", "least", "gib")]
    for number in [*numbers, *getattr(criterion, "interval", [])]:
        if isinstance(number, int | float) and number:
            assert f"{number:,g}" in text


@pytest.mark.parametrize(
    ("path", "profile"),
    [(path, profile) for path in sorted(MADE) for profile in (None, *MADE[path])],
    ids=lambda value: getattr(value, "stem", value),
)
def test_a_config_of_claims_loads_in_every_profile(path, profile):
    experiment = load_experiment(path, profile=profile)
    assert experiment.threads == 1 and experiment.protocol.trials >= 5
    assert not any("," in spec.label for spec in experiment.solvers.values())


def test_a_config_of_claims_is_judged_in_all_its_profiles():
    profiles = {}
    for paper, criterion in JUDGEMENTS:
        judged = {*paper.profiles.protocol, *paper.profiles.useful}
        profiles |= dict.fromkeys(criterion.configs or (), judged)
    assert all({"full", *own} <= profiles[path.stem] for path, own in MADE.items())
    assert all("full" in own for own in MADE.values())


def test_an_explanation_rests_on_what_is_kept():
    kept = ROOT / "results" / "reference"
    names = {path.stem for path in (*kept.iterdir(), *(kept / "studies").iterdir())}
    shown = [
        claim.why_not.shown_by for paper in papers() for claim in paper.claims if claim.why_not
    ]
    assert shown and {*shown} <= names


def test_a_kept_study_has_the_numbers_that_a_claim_reads():
    studies = {}
    for file in (ROOT / "results" / "reference" / "studies").glob("*.json"):
        studies[file.stem] = json.loads(file.read_text())["numbers"]
    for _, criterion in JUDGEMENTS:
        if getattr(criterion, "study", None) in studies:
            points = TESTS[criterion.test](criterion, [], studies)
            assert all(point.counts is not None for point in points)


ONE = "test: equal, a: own, b: other, measure: auc, margin: 0.01"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("margin: 0.01", "margins: 0.01", ":17: claims.0.judged.0.margins: "),
        (", margin: 0.01", "", ":17: claims.0.judged.0: margin: Field required"),
        ("margin: 0.01", "margin: -1.0", "greater than or equal to 0"),
        ("margin: 0.01", "margin: '1'", "margin: Input should be a valid number"),
        ("test: equal", "test: alike", "'alike' found using 'test'"),
        ("by: protocol", "by: luck", "should be 'protocol' or 'useful'"),
        ("margin: 0.01", "margin: 0.01, holds: all", ":17: claims.0.judged.0.holds"),
        ("margin: 0.01", "margin: 0.01, datasets: [mnist]", "not a dataset of the paper: mnist"),
        ("a: own", "a: {best: []}", "best: List should have at least 1 item"),
        (ONE, "test: rate, a: x, measure: auc, exponent: -1", "judged.0.a: a: Extra inputs"),
        (ONE, "test: published, a: [SVM], b: [SGD], measure: nmi", "unknown name 'SVM'"),
        ("task: semi_supervised_auc", "task: auc", "unknown name 'auc'"),
        (
            "kind: accuracy",
            "kind: accuracy\n  untestable: no data",
            "needs criteria, or else a text",
        ),
        ("number: 1", "number: [1", "not valid YAML"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, old, new, told):
    file = tmp_path / "mine.yaml"
    file.write_text(PAPER)
    assert read_strictly(file, Paper, "judged").claims[0].judged[0].margin == 0.01
    assert old in PAPER
    file.write_text(PAPER.replace(old, new))
    with pytest.raises(ConfigError) as error:
        read_strictly(file, Paper, "judged")
    assert told in str(error.value)
    assert str(error.value).startswith(str(file))
    assert "\n" not in str(error.value)
