"""The code that a module depends on: which files, and which edits of them count."""

import os

import pytest

from dsgkit.system import sources
from dsgkit.system.sources import Module, code_hash, imported, module_named

SOLVER = '''"""A solver."""

import math
from pkg.steps import (
    MOST,
    step as next_step,
)
from pkg import tools

__all__ = ["Solver"]

_START = 0.5
"""Where it starts."""


class Solver:
    """A class."""

    rate: float = 1.0

    def fit(self, x: float) -> float:
        """Fit."""
        return next_step(x) + _START  # a comment

    def value(self, x):
        from pkg.late import late

        return late(math.cos(x))
'''
FILES = {
    "__init__": "",
    "solver": SOLVER,
    "steps": "MOST = 3\n\ndef step(x):\n    return x + 1\n\ndef other(x):\n    return x\n",
    "tools": "from . import deep\nfrom .deep import base as _\n",
    "deep/__init__": "",
    "deep/base": "import numpy\nBASE = 1\n",
    "late": "def late(x):\n    return x\n",
    "unused": "UNUSED = 1\n",
}


@pytest.fixture
def package(tmp_path):
    """A package of a few files, as a user may have one."""
    for name, text in FILES.items():
        write(tmp_path, name, text)
    return tmp_path


def write(folder, name, text):
    path = folder / "pkg" / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def edit(folder, name, old, new):
    path = folder / "pkg" / f"{name}.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def solver(folder):
    return Module("pkg.solver", folder / "pkg" / "solver.py")


def test_every_way_to_import_a_file_beside_it_is_seen(package):
    names = {
        str(module.path.relative_to(package / "pkg")) for module in imported([solver(package)])
    }
    expected = {"solver.py", "steps.py", "tools.py", "late.py", "deep/__init__.py", "deep/base.py"}
    assert names == expected


DOES_NOT_COUNT = [
    ("solver", "# a comment", "# another\n"),
    ("solver", '"""Fit."""', '"""Fit it."""\n\n'),
    ("solver", '"""Where it starts."""', "# nothing"),
    ("solver", '["Solver"]', '["Solver", "_START"]'),
    ("solver", "x: float) -> float", "x: int)"),
    ("solver", "0.5", "5e-1"),
    ("unused", "1", "2"),
]
COUNTS = [
    ("solver", "0.5", "0.25"),
    ("solver", "rate: float = 1.0", "rate: float = 2.0"),
    ("solver", "import math", "import cmath as math"),
    ("solver", "step as next_step", "other as next_step"),
    ("steps", "x + 1", "x + 2"),
    ("deep/base", "1", "2"),
    ("late", "return x", "return 2 * x"),
    ("late", "return x", "return ("),
]


@pytest.mark.parametrize("change", [*DOES_NOT_COUNT, *COUNTS])
def test_which_edits_count(package, change):
    before = code_hash([solver(package)])
    edit(package, *change)
    assert (code_hash([solver(package)]) != before) == (change in COUNTS)


def test_imports_for_types_do_not_count(package):
    edit(package, "late", "def", "from typing import TYPE_CHECKING\n\ndef")
    before = code_hash([solver(package)])
    edit(package, "late", "def", "if TYPE_CHECKING:\n    from pkg.unused import UNUSED\n\ndef")
    assert code_hash([solver(package)]) == before


def test_which_file_a_definition_is_in_does_not_count(package):
    before = code_hash([solver(package)])
    edit(package, "steps", "MOST = 3\n\ndef step(x):\n    return x + 1\n", "")
    write(package, "moved", "def step(x):\n    return x + 1\n\nMOST = 3\n")
    new = "from pkg.steps import other\nfrom pkg.moved import ("
    edit(package, "solver", "from pkg.steps import (", new)
    assert code_hash([solver(package)]) == before


def test_order_does_not_count(package):
    before = code_hash([solver(package)])
    write(
        package,
        "steps",
        "def other(x):\n    return x\n\ndef step(x):\n    return x + 1\nMOST = 3\n",
    )
    first, second = SOLVER.index("    def fit"), SOLVER.index("    def value")
    write(package, "solver", f"{SOLVER[:first]}{SOLVER[second:]}\n{SOLVER[first:second]}")
    assert code_hash([solver(package)]) == before


def test_constants_of_two_files_are_told_apart_from_their_values(package):
    """Otherwise a value that becomes that of another file's would go unseen."""
    for name, value in (("steps", 3), ("late", 4), ("deep/base", 4)):
        edit(package, name, FILES[name], f"{FILES[name]}\n_SIZE = {value}\n")
    before = code_hash([solver(package)])
    edit(package, "late", "_SIZE = 4", "_SIZE = 3")
    assert code_hash([solver(package)]) != before


def test_a_file_that_is_no_python_counts_by_its_bytes(package):
    write(package, "late", "\0")
    before = code_hash([solver(package)])
    write(package, "late", "\0\0")
    assert code_hash([solver(package)]) != before


DAMAGES = {
    "none": lambda path: None,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "a byte": lambda path: path.write_bytes(path.read_bytes().replace(b"a", b"b", 1)),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_kept_of_the_package_is_used_or_made_again(tmp_path, monkeypatch, damage):
    start = [module_named("dsgkit.tasks.metrics")]
    parsed = []

    def in_another_process():
        sources._read_of_ours.cache_clear()
        return code_hash(start)

    expected = in_another_process()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert in_another_process() == expected
    for path in (tmp_path / "dsgkit" / "sources").iterdir():
        DAMAGES[damage](path)
    original = sources._parsed
    monkeypatch.setattr(sources, "_parsed", lambda text: parsed.append(1) or original(text))
    assert in_another_process() == expected
    assert bool(parsed) == (damage != "none")


def test_modules_of_this_package_import_nothing_from_beside_it():
    training = module_named("dsgkit.engine.training")
    assert {module.name.partition(".")[0] for module in imported([training])} == {"dsgkit"}
    assert imported([training], package=False) == []
