"""A change of a solver's values needs a new version: else stored results would pass for its own."""

import pytest

from dsgkit.estimators.catalogue import SOLVERS
from tests.estimators.fingerprints import same, stored, taken

COMMAND = "python -m tests.estimators.fingerprints"


# a few pairs tell little at any prior: the class of each moves the risk
pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")


@pytest.mark.parametrize("name", SOLVERS)
def test_values_change_only_with_the_version(name):
    old, new = stored().get(name), taken(name)
    solver = SOLVERS[name].import_path
    assert old, f"{name} has no fingerprint: run {COMMAND}"
    if new["version"] != old["version"]:
        pytest.fail(f"{solver} has version {new['version']}: run {COMMAND} and keep its file")
    assert same(new["values"], old["values"]), (
        f"the values of {solver} have changed: raise its `version`, then run {COMMAND}"
    )
