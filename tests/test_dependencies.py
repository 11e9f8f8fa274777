"""Every package that dsgkit imports is declared in pyproject.toml."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CALLED = {"sklearn": "scikit-learn", "yaml": "pyyaml"}
"""Distributions by what they install, where that has another name."""

BROUGHT = {"dask": "distributed", "markupsafe": "jinja2", "pydantic_core": "pydantic"}
"""Packages by the dependency that needs and so installs them."""


def imports(path):
    """Yield the packages that a file imports, with whether that is when the file is imported."""
    tree = ast.parse(path.read_text())
    inside = {
        id(node)
        for part in ast.walk(tree)
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(part)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        else:
            continue
        for name in names:
            yield name.partition(".")[0], id(node) not in inside


def declared(requirements):
    """Return the distributions of requirements."""
    names = (re.match(r"[\w-]+", one)[0] for one in requirements)
    return {name.lower().replace("_", "-") for name in names}


NEEDED = declared(PROJECT["dependencies"])
OPTIONAL = declared(PROJECT["optional-dependencies"]["cluster"])


def third_party():
    """Yield the distribution of every import of the package, its file, and whether it is early."""
    for path in sorted((ROOT / "dsgkit").rglob("*.py")):
        for name, early in imports(path):
            if name not in sys.stdlib_module_names and name != "dsgkit":
                distribution = (CALLED | BROUGHT).get(name, name.replace("_", "-"))
                yield distribution, path.relative_to(ROOT), early


def test_every_import_is_of_a_declared_dependency():
    """Of an extra where it is imported within a function: the package does without it."""
    for distribution, path, early in third_party():
        assert distribution in (NEEDED if early else NEEDED | OPTIONAL), (path, distribution)


def test_every_dependency_is_imported():
    assert {distribution for distribution, *_ in third_party()} == NEEDED | OPTIONAL


def test_names_of_distributions_are_right():
    installed = packages_distributions()
    for module, distribution in CALLED.items():
        assert distribution in [name.lower() for name in installed[module]]
    for module, distribution in BROUGHT.items():
        assert module.replace("_", "-") in declared(requires(distribution))
