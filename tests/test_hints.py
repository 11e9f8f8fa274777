"""One wording for names that are nearly right, in modules that import next to nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from dsgkit.config import shipped
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


def test_of_many_names_those_that_hold_the_word_are_enough():
    known = [f"name_{i}" for i in range(100)]
    assert nearest_or_all("nome_4", known) == " (did you mean 'name_4'?)"
    expected = "; nearest of 100: name_4, name_14, name_24, name_34, name_40"
    assert nearest_or_all("4", known, "dsg list names") == f"{expected}; `dsg list names` lists all"
    assert nearest_or_all("4", known) == expected


def test_of_many_names_unrelated_ones_are_not_suggested():
    known = [f"name_{i}" for i in range(100)]
    assert nearest_or_all("xyz", known, "dsg list names") == "; `dsg list names` lists all 100"
    told = nearest_or_all("xyz", known)  # nothing lists them all
    assert told.startswith("; nearest of 100: name_") and told.count("name_") == 5
    assert len(nearest_or_all("4", [f"{i}" * 500 for i in range(100, 200)])) < 230


def test_registries_use_it():
    for get, error, name, told in (
        (get_solver, ConfigError, "samlut", " (did you mean 'samult'?)"),
        (get_solver, ConfigError, "qq", f"; `dsg list solvers` lists all {len(SOLVERS)}"),
        (get_dataset, DataError, "cod-rna", " (did you mean 'codrna'?)"),
    ):
        kind = "solver" if get is get_solver else "dataset"
        with pytest.raises(error) as caught:
            get(name)
        assert str(caught.value) == f"unknown {kind} '{name}'{told}"
        with pytest.raises(error, match=r"lists all \d+$") as caught:
            get("x" * 500)
        assert len(str(caught.value)) < 250


def test_a_config_that_is_not_there_is_told_by_those_that_are_near():
    unknown, lists = "no config file or shipped config", "; `dsg list configs` lists all"
    for name, told in (
        ("nothere", f"{lists} {len(shipped.names())}"),
        ("quickstrat", " (did you mean 'quickstart'?)"),
        ("musk", f"; nearest of {len(shipped.names())}: musk_clustering{lists}"),
    ):
        with pytest.raises(ConfigError) as caught:
            shipped.located(Path(name))
        assert str(caught.value) == f"{unknown} '{name}'{told}"


def test_values_are_shown_as_a_config_spells_them():
    assert [spelled(value) for value in (None, True, 3, "a")] == ["null", "true", "3", "'a'"]
    assert len(spelled(10**400)) == 60


LIGHT = {
    "import dsgkit": "numpy pandas",
    "import dsgkit.report.tables": "matplotlib",
    "import dsgkit.text.hints, dsgkit.solvers.catalogue": "numpy pydantic yaml sklearn",
    "import dsgkit.config; dsgkit.config.list_configs('.')": "numpy sklearn scipy pandas numba",
    "from dsgkit import cli; sys.argv = ['dsg', '--help']; cli.leave = sys.exit\n"
    "try: cli.main()\nexcept SystemExit as stop: assert stop.code == 0\n": "numpy numba scipy "
    "sklearn pandas matplotlib pydantic yaml jinja2 filelock",
}
"""What is done with few imports, and what is not imported."""


@pytest.mark.parametrize("program", LIGHT)
def test_what_is_quick_imports_nothing_heavy(program):
    print_them = f"print([name for name in {LIGHT[program].split()} if name in sys.modules])"
    code = f"import sys\n{program}\n{print_them}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr
