"""One wording for names that are nearly right, in modules that import next to nothing."""

import subprocess
import sys

import pytest

from dsgkit.data.catalogue import get as get_dataset
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.solvers.catalogue import get as get_solver
from dsgkit.text.errors import ConfigError, DataError
from dsgkit.text.hints import did_you_mean, nearest_or_all, spelled


def test_the_nearest_name_or_all_of_them():
    known = ["trials", "folds"]
    assert did_you_mean("trails", known) == " (did you mean 'trials'?)"
    assert nearest_or_all("trails", iter(known)) == " (did you mean 'trials'?)"
    assert did_you_mean("qqq", known) == ""
    assert nearest_or_all("qqq", iter(known)) == "; known: trials, folds"


def test_of_many_names_the_nearest_are_enough():
    known = [f"name_{i}" for i in range(100)]
    assert nearest_or_all("nome_4", known) == " (did you mean 'name_4'?)"
    told = nearest_or_all("4", known, "dsg list names")
    assert told.startswith("; nearest of 100: name_")
    assert told.count("name_") == 5
    assert "name_4" in told
    assert told.endswith("; `dsg list names` lists all")
    assert "`" not in nearest_or_all("4", known)
    assert len(nearest_or_all("4", [f"{i}" * 500 for i in range(100, 200)])) < 230


@pytest.mark.parametrize("get", [get_solver, get_dataset])
@pytest.mark.parametrize("name", ["qqq", "zzz", "x" * 500])
def test_an_unknown_name_of_a_registry_takes_a_short_line(get, name):
    with pytest.raises((ConfigError, DataError), match=r"lists all$") as caught:
        get(name)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("get", "name", "error", "expected"),
    [
        (get_solver, "samlut", ConfigError, "unknown solver 'samlut' (did you mean 'samult'?)"),
        (
            get_solver,
            "qq",
            ConfigError,
            f"unknown solver 'qq'; nearest of {len(SOLVERS)}: "
            "qs3orao, qsg_s2auc, qs3orao_p, qsg_s2auc_p, tsgsu_p; `dsg list solvers` lists all",
        ),
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
        "import sys, dsgkit.text.hints, dsgkit.solvers.catalogue\n"
        "print(sorted({'numpy', 'pydantic', 'yaml', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
