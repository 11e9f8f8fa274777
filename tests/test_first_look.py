"""`dsg try`: what it takes of a file, the config that it writes, and what it refuses.

first_look.txt has all that is printed; ``DSGKIT_RECORD_GOLDEN=1`` records it again.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dsgkit import load_results
from dsgkit.cli import cli
from dsgkit.config.schema import load_experiment
from dsgkit.data.dataset import load_dataset
from dsgkit.errors import DsgError

GOLDEN = Path(__file__).with_name("first_look.txt")
N = 90
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(N, 3)).round(3)
COLOURS = RNG.choice(["red", "blue"], N)
KINDS = np.where(NUMBERS[:, 0] + (COLOURS == "red") > 0.5, "yes", "no")
GRADES = np.digitize(NUMBERS[:, 1], [-0.5, 0.5]) + 3
COLUMNS = (NUMBERS[:, 0], NUMBERS[:, 1], COLOURS, KINDS)
NAMES = ("size", "mass", "colour", "kind")
K = np.arange(N)
WORDS = [f"w{k % 60}" for k in K]
MANY = RNG.normal(size=2001).round(2), RNG.integers(0, 10**6, 2001)
SHARED = [f"t{k % 60}" for k in range(2001)]


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DSGKIT_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)


def table(*columns, names=None, sign=","):
    """Return delimited text."""
    lines = [sign.join(names)] if names else []
    lines += [sign.join(map(str, row)) for row in zip(*columns, strict=True)]
    return "".join(f"{line}\n" for line in lines)


def labelled(labels):
    return table(*NUMBERS.T, labels, names=("a", "b", "c", "l"))


def dsg_try(text, *options):
    Path("rows.csv").write_text(text, newline="")
    return CliRunner().invoke(cli, ["try", "rows.csv", *options], env={"COLUMNS": "100"})


PLAIN = table(*COLUMNS, names=NAMES)
HEAD, ROW, *ROWS = PLAIN.splitlines(keepends=True)
LAYOUTS = {
    "$MARKED": "\ufeff" + PLAIN.replace("\n", "\r\n"),
    "$SEMICOLON": table(*COLUMNS, names=NAMES, sign=";"),
    "$QUOTED": table(*COLUMNS, names=[f'"{name}"' for name in NAMES]),
    "$HEADERLESS": table(*COLUMNS),
    "$BLANKS": table(*COLUMNS, sign=" "),
}
FILES = {
    **LAYOUTS,
    "$PLAIN": PLAIN,
    "$KINDS": labelled(KINDS),
    "$ONE_THIRD": labelled((K % 3 == 0) + 4),
    "$GRADES": labelled(GRADES),
    "$MANY": labelled(np.repeat(np.arange(12), np.arange(2, 14)) / 2),
    "$SHAPES": labelled(np.repeat(list("abcdefgh"), [15, 14, 13, 12, 11, 10, 8, 7])),
    "$GAPS": labelled(np.where(GRADES == 4, "?", KINDS)),
    "$MARKS": labelled(np.where(GRADES == 4, -1, GRADES == 3)),
    "$ONE_CLASS": labelled(["x"] * N),
    "$FOUR": labelled(["x"] * 4 + ["y"] * (N - 4)),
    "$RARE": table(*MANY, SHARED, np.arange(2001) % 100 == 0, names=("a", "b", "text", "l")),
    "$LONG": table(*MANY, np.arange(2001) % 100 < 9) * 3,
    "$POINTS": table(*MANY, names=("x", "y")),
    "$MIXED": table(
        *(
            np.where(K % 9 == 0, "", NUMBERS[:, 0]),
            WORDS,
            [w + c for w, c in zip(WORDS[::-1], COLOURS, strict=True)],
            KINDS,
        ),
        *([f"{k % 28 + 1}/12/1999" for k in K], K, COLOURS, NUMBERS[:, 1] * 0 + 1.234),
        *(K * 7 % 97, [""] * N),
        names=("gaps", "word", "text", "kind", "day", "row", "", "price", "user_id", "empty"),
    ),
    "$PAIRED": table([f"{c};{c}" for c in COLOURS], *COLUMNS, names=("pair", *NAMES)),
    "$FIRST": table(COLOURS, *NUMBERS.T),
    "$TARGET": table(*NUMBERS.T, names=("a", "Target", "c")),
    "$HIDDEN": table(NUMBERS[:, 0], GRADES, NUMBERS[:, 1]),
    "$EMPTY": "",
    "$FEW": table(*(column[:40] for column in COLUMNS)),
    "$TEXT": "".join([HEAD, *ROWS[:7], "1.2.3," + ROW.partition(",")[2], *ROWS[7:]]),
    "$DECIMAL": LAYOUTS["$SEMICOLON"].replace(".", ","),
    "$COMMAS": LAYOUTS["$SEMICOLON"].replace("0.", "0,"),
    "$SHORT": PLAIN + "1,2\n",
    "$WORDS": "word\n" * N,
    "$LIBSVM": "1 1:2 3:4\n" * N,
    "$TRAILING": LAYOUTS["$HEADERLESS"].replace("\n", ",\n"),
}


@pytest.mark.parametrize("case", re.findall(r"(?m)^== (.*)$", GOLDEN.read_text()))
def test_what_is_taken_of_a_file_is_printed(case):
    name, *options = case.split()
    done = dsg_try(FILES[name], *options, "--dry-run")
    assert [path.name for path in Path.cwd().glob("*.*")] == ["rows.csv"]
    printed = f"{done.output or done.exception}".strip()
    if os.environ.get("DSGKIT_RECORD_GOLDEN"):
        head, _, rest = GOLDEN.read_text().partition(f"== {case}\n")
        GOLDEN.write_text(f"{head}== {case}\n{printed}\n\n{rest[rest.find('== ') :]}")
    assert f"== {case}\n{printed}\n\n" in GOLDEN.read_text() + "\n"
    if done.exception:
        assert isinstance(done.exception, DsgError)
        return
    Path("config.yaml").write_text(done.output.partition("\n\n")[2])
    rows = load_dataset(load_experiment("config.yaml").dataset)
    assert len(rows.X) == FILES[name].count("\n") - ("header: true" in printed)
    if name in LAYOUTS:
        is_blue = COLOURS == "blue"
        expected = np.column_stack([NUMBERS[:, :2], is_blue, ~is_blue])
        np.testing.assert_array_equal(rows.X, expected.astype(np.float32))
        np.testing.assert_array_equal(rows.y, np.where(KINDS == "yes", 1, -1))


def test_of_a_long_file_the_first_rows_are_taken_and_no_config_is_written_over(monkeypatch):
    ran = []
    monkeypatch.setattr("dsgkit.cli.run._run_one", lambda _, folder, __: ran.append(folder.name))
    monkeypatch.setattr("dsgkit.cli.first_look.MAX_ROWS", 70)
    for options in ([], [], ["--task", "svm"]):
        done = dsg_try(PLAIN, "--label", "kind", *options)
        assert done.exit_code == 0 and "the first 70 rows" in done.output
    first = Path("rows_auc_try.yaml")
    assert len(load_dataset(load_experiment(first).dataset).X) == 70
    first.write_text("# mine\n")
    assert dsg_try(PLAIN, "--label", "kind").exit_code == 0
    assert ran == ["rows_auc_try", "rows_auc_try", "rows_svm_try", "rows_auc_try2"]
    assert first.read_text() == "# mine\n"


@pytest.mark.slow
def test_a_run_ends_with_all_methods(monkeypatch, in_process):
    fewer = ["protocol.trials=1", "protocol.folds=2", "outputs=[auc_table]"]
    monkeypatch.setattr(
        "dsgkit.config.schema.load_experiment", lambda path: load_experiment(path, overrides=fewer)
    )
    done = dsg_try(LAYOUTS["$SEMICOLON"], "--label", "kind")
    assert done.exit_code == 0, (done.output, done.exception)
    assert "Differences are not tested" in done.output and "p = " not in done.output
    (folder,) = Path("results").iterdir()
    cells = load_results(folder)
    assert set(cells["solver"]) == set(load_experiment("rows_auc_try.yaml").solvers)
    assert set(cells["status"]) == {"ok"}
