"""One wording for names that are nearly right, in modules that import next to nothing."""

import subprocess
import sys

import pytest

from dsgkit.data.catalogue import get as get_dataset
from dsgkit.errors import ConfigError, DataError
from dsgkit.hints import did_you_mean, nearest_or_all, spelled
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.solvers.catalogue import get as get_solver


def test_the_nearest_name_or_all_of_them():
    known = ["trials", "folds"]
    assert did_you_mean("trails", known) == " (did you mean 'trials'?)"
    assert nearest_or_all("trails", iter(known)) == " (did you mean 'trials'?)"
    assert did_you_mean("qqq", known) == ""
    assert nearest_or_all("qqq", iter(known)) == "; known: trials, folds"


@pytest.mark.parametrize(
    ("get", "name", "error", "expected"),
    [
        (get_solver, "samlut", ConfigError, "unknown solver 'samlut' (did you mean 'samult'?)"),
        (get_solver, "qq", ConfigError, f"unknown solver 'qq'; known: {', '.join(SOLVERS)}"),
        (get_dataset, "cod-rna", DataError, "unknown dataset 'cod-rna' (did you mean 'codrna'?)"),
    ],
)
def test_registries_use_it(get, name, error, expected):
    with pytest.raises(error) as caught:
        get(name)
    assert str(caught.value) == expected


def test_values_are_shown_as_a_config_spells_them():
    assert [spelled(value) for value in (None, True, 3, "a")] == ["null", "true", "3", "'a'"]
    assert len(spelled(10**400)) == 60


def test_the_module_is_light():
    program = (
        "import sys, dsgkit.hints, dsgkit.solvers.catalogue\n"
        "print(sorted({'numpy', 'pydantic', 'yaml', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
