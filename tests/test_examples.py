"""The examples in docstrings run, and print what they show."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import dsgkit

PACKAGE = Path(dsgkit.__file__).parent


def with_examples():
    """The names of the modules that show an example."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if re.search(r"^ +>>> |^@with_example", path.read_text(), re.MULTILINE):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", [*with_examples()])
def test_the_examples_of_a_module_run(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
