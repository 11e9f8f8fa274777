"""Configs that are meant to hurt: each is one short line with its place, or loads and is kept.

What is tried is derived from the schema, the tasks and the solvers: a new field is covered.
"""

import math
import os
import time

import pytest

from dsgkit.config import bounds, load_experiment
from dsgkit.config.schema import Experiment
from dsgkit.config.solvers import SOLVER_KEYS
from dsgkit.config.yaml_loader import dump
from dsgkit.data.spec import DatasetSpec, TargetSpec
from dsgkit.errors import ConfigError
from dsgkit.solvers import catalogue as solvers
from dsgkit.tasks import base as tasks
from tests.config.conftest import MINIMAL

LONGEST_MESSAGE = 700
"""Characters: a line of a value, its place, and the names that are known."""


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


HOSTILE = {
    "null": None,
    "true": True,
    "negative": -1,
    "huge": 10**30,
    "digits": 10**3999,
    "float": 1e308,
    "nan": math.nan,
    "empty": "",
    "nul": "a\x00b",
    "escape": "\x1b[31mred",
    "lines": "a\nb",
    "long": "x" * 5000,
    "home": "~nobody-of-this-name/x",
    "up": "../../up",
    "formula": r"$\frac{$",
    "odd import": "..:__import__",
    "list": [],
    "lists": [[1], {"a": 2}],
    "deep": nested(40),
    "mapping": {"a\nb": {"b" * 300: []}},
}

NAMED = {"dataset": {"name": "digits"}}
FILE = {"dataset": {"path": "rows.csv", "loader": "delimited"}}
SOLVERS = {
    "solvers": {"mine": {"kind": "samult", "params": {"sigma": 1.0}, "grid": {"lam": [1, 2]}}}
}
PROTOCOL = {"protocol": {"kind": "semi_supervised_auc"}}


def places():
    """A config, and a place in it, for everything that a config can say."""
    whole = {**NAMED, **PROTOCOL, **SOLVERS}
    for field in [*Experiment.model_fields, "extends", "profiles", "anything"]:
        yield whole, (field,)
    for field in DatasetSpec.model_fields:
        yield {**whole, **(NAMED if field == "name" else FILE)}, ("dataset", field)
    for field in TargetSpec.model_fields:
        yield whole, ("dataset", "target", field)
    for key in SOLVER_KEYS:
        yield whole, ("solvers", "mine", key)
    for field in ("grid", "coordinates", "anything"):
        yield whole, ("solvers", "mine", "search", 0, field)
    for kind in tasks.TASKS:
        name, info = next((n, s) for n, s in solvers.SOLVERS.items() if kind in s.tasks)
        spec = tasks.get(kind)
        config = {**FILE, "protocol": {"kind": kind}, "solvers": {name: {}}}
        for field in spec.Spec.model_fields:
            yield config, ("protocol", field)
        for axis in spec.axes:
            yield config, ("sweep", axis.name)
            yield config, ("solvers", name, "at_most", axis.name)
        for i, parameter in enumerate(info.parameters):
            yield config, ("solvers", name, ("params", "grid")[i % 2], parameter)


def with_value(data, place, value):
    """A copy of nested data with a value at a place, which need not have been there."""
    if not place:
        return value
    first, *rest = place
    if isinstance(first, int):
        return [with_value({}, rest, value)]
    inside = data if isinstance(data, dict) else {}
    return {**inside, first: with_value(inside.get(first), rest, value)}


def load_or_line(path, **options):
    """The experiment of a config, or the line that says why there is none."""
    try:
        return load_experiment(path, **options)
    except ConfigError as error:
        line = str(error)
        assert line.isprintable()
        assert len(line) <= LONGEST_MESSAGE
        return line


def some_values(place):
    """Every third hostile value, from another one on at the next place."""
    return list(HOSTILE.items())[list(PLACES).index(place) % 3 :: 3]


PLACES = {".".join(map(str, place)): (config, place) for config, place in places()}


@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_value_is_told_at_its_place_or_is_kept(place, folder):
    config, keys = PLACES[place]
    for name, value in some_values(place):
        read = load_or_line(folder(dump(with_value(config, keys, value))))
        if isinstance(read, Experiment):
            stored = load_experiment(folder(read.to_yaml(), "stored.yaml"), stored=True)
            assert (stored.dataset, stored.solvers) == (read.dataset, read.solvers), name
        else:
            assert read.startswith("c.yaml"), name


def aliases(levels, times):
    lines = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * times)}]" for i in range(1, levels)]
    return "\n".join([MINIMAL + "a0: &a0 [lol]", *lines, ""])


def with_trials(trials):
    return MINIMAL.replace("kind: semi", f"trials: {trials}, kind: semi")


def with_grid(grid):
    return MINIMAL.replace("{lam: 2^-3..2^3, sigma: 1}", grid)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (aliases(10, 10), f"c.yaml:6: more than {bounds.MAX_FILE_VALUES:,} values"),
        (MINIMAL + "x: &x {a: *x}\n", "c.yaml:6: nested more than 50 deep, or an alias"),
        (MINIMAL + "x: " + "[" * 20_000, "c.yaml:6: nested more than 50 deep"),
        (MINIMAL + "".join(f"{' ' * i}a:\n" for i in range(500)), "c.yaml:56: nested more than"),
        (MINIMAL + "#" * bounds.MAX_FILE_BYTES, "c.yaml: larger than 1,048,576 bytes"),
        (with_trials(10**9), "c.yaml:5: protocol.trials: 2,000,000,000 fits and searches"),
        *(
            (
                MINIMAL.replace("semi_supervised_auc", f"{kind}, {name}: 10000000000"),
                f"c.yaml:5: protocol.{name}: must be <= 10000, got 10000000000",
            )
            for kind, name in (
                ("semi_supervised_svm", "repeats"),
                ("semi_supervised_auc", "folds"),
                ("similar_unlabeled", "folds"),
            )
        ),
        (with_grid("{lam: 1..900 step 1, sigma: 1..900 step 1}"), "c.yaml:3: solvers.samult: a gr"),
        (
            with_grid("{lam: [" + ", ".join(map(str, range(1, 1002))) + "]}"),
            "c.yaml:4: solvers.samult.grid.lam: has more than 1000 values",
        ),
        (
            "dataset: {name: digits}\nprotocol: {kind: semi_supervised_auc}\nsolvers:\n"
            + "".join(f"  s{i}: {{kind: samult}}\n" for i in range(501)),
            "c.yaml:3: solvers: must hold at most 500 solvers, got 501",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, delimiter: ab}\n" + MINIMAL[24:],
            "c.yaml:1: dataset.delimiter: must be one character",
        ),
        (MINIMAL + 'name: "a\\ud800"\n', "c.yaml:6: not valid YAML: 'a\\ud800' is not of type"),
        (MINIMAL + f"seed: {'9' * 5000}\n", "c.yaml:6: "),
        (MINIMAL + f"seed: 0x{'f' * 5000}\n", "c.yaml:6: "),
        (MINIMAL + f"x: *{'a' * 5000}\n", "c.yaml:6: not valid YAML: "),
        (MINIMAL + f"x: !{'a' * 5000} 1\n", "c.yaml:6: not valid YAML: unknown tag"),
        (MINIMAL + f"{'k' * 900}: 1\n{'k' * 900}: 1\n", "c.yaml:7: repeated key 'kkk"),
        (MINIMAL + "extends: " + "a" * 5000, "c.yaml:6: extends: must have at most 4095 bytes"),
        (MINIMAL + 'extends: "a\\0b"', "c.yaml:6: extends: must not contain '\\x00', which"),
    ],
)  # fmt: skip
def test_what_is_too_much_is_one_line_with_its_bound(text, line, folder):
    start = time.monotonic()
    read = load_or_line(folder(text))
    assert isinstance(read, str) and read.startswith(line), read
    assert time.monotonic() - start < 10


def test_within_the_bounds_much_is_read(folder):
    experiment = load_experiment(folder(with_trials(100_000)))
    assert experiment.protocol.trials == 100_000
    nine = load_experiment(folder(with_grid("{lam: 1..900 step 1, gamma: 0..1 step 0.01}")))
    assert len(nine.solvers["samult"].grids[0]["lam"]) == 900


def test_bases_are_followed_so_far(folder):
    folder(MINIMAL, "b0.yaml")
    for i in range(1, 25):
        folder(f"extends: b{i - 1}.yaml\n", f"b{i}.yaml")
    assert load_experiment(f"b{bounds.MAX_BASES}.yaml").name == "b20"
    assert load_or_line("b24.yaml") == "b4.yaml:1: extends: leads through more than 20 files"


def test_what_is_no_file_is_not_read(folder, tmp_path):
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    for path, why in {
        "loop.yaml": "cannot be read: Too many levels of symbolic links",
        "pipe.yaml": "is not a regular file",
        "/dev/zero": "is not a regular file",
        "a\x00b": "cannot be read: embedded null byte",
        "a" * 5000: "cannot be read: File name too long",
    }.items():
        assert load_or_line(path).endswith(why)
    for base in ("loop.yaml", "pipe.yaml", "/dev/zero"):
        line = load_or_line(folder(f"extends: {base}\n{MINIMAL}"))
        assert line == f"c.yaml:1: extends: no such config file: {base}"


def test_hostile_overrides_are_one_short_line(folder):
    chains = "=".join("ab" * 900), ".".join("a" * 900) + "=1"
    for text in ("x" * 5000, *chains, "a\nb=1", "seed=*x", "seed=[["):
        load_or_line(folder(MINIMAL), overrides=[text])


def test_formulas_and_dollars_that_can_be_drawn_are_labels(folder):
    for label in (r"$\lambda$-SVM", "5 $", r"\$5 and \$6"):
        text = MINIMAL.replace("    grid", f"    label: '{label}'\n    grid")
        assert load_experiment(folder(text)).solvers["samult"].label == label
