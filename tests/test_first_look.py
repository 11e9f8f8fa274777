"""`dsg try`: what it takes of a file, the config that it writes, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dsgkit.cli import cli
from dsgkit.config.schema import load_experiment
from dsgkit.config.yaml import read_document
from dsgkit.data.dataset import load_dataset
from dsgkit.errors import DsgError
from dsgkit.experiment.results import load_results
from tests.test_wrong_inputs import cases

N = 90
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(N, 3)).round(3)
COLOURS = RNG.choice(["red", "blue"], N)
KINDS = np.where(NUMBERS[:, 0] + (COLOURS == "red") > 0.5, "yes", "no")
GRADES = np.digitize(NUMBERS[:, 1], [-0.5, 0.5]) + 3


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


COLUMNS = (NUMBERS[:, 0], NUMBERS[:, 1], COLOURS, KINDS)
NAMES = ("size", "mass", "colour", "kind")
PLAIN = table(*COLUMNS, names=NAMES)


def dsg_try(text, *options):
    Path("rows.csv").write_text(text, newline="")
    return CliRunner().invoke(cli, ["try", "rows.csv", *options])


def drafted(text, *options):
    """Return the config, what is printed in one line, and the experiment of the config."""
    done = dsg_try(text, *options, "--dry-run")
    assert done.exit_code == 0, (done.output, done.exception)
    assert [path.name for path in Path.cwd().glob("*.*")] == ["rows.csv"]
    told, _, printed = done.output.partition("\n\n")
    Path("config.yaml").write_text(printed)
    data, experiment = read_document(Path("config.yaml")).data, load_experiment("config.yaml")
    Path("config.yaml").unlink()
    return data, " ".join(told.split()), experiment


LAYOUTS = {
    "mark and returns": "\ufeff" + PLAIN.replace("\n", "\r\n"),
    "semicolon": table(*COLUMNS, names=NAMES, sign=";"),
    "quotes": table(*COLUMNS, names=[f'"{name}"' for name in NAMES]),
    "headerless": table(*COLUMNS),
    "blanks": table(*COLUMNS, sign=" "),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_is_found(layout):
    named = layout not in ("headerless", "blanks")
    config, _, experiment = drafted(LAYOUTS[layout], "--label", "kind" if named else "3")
    assert config["extends"] == "base/try_auc.yaml"
    found, sign = config["dataset"], {"semicolon": ";", "blanks": None}
    assert found.get("delimiter") == sign.get(layout, ",") and ("header" in found) is named
    assert found["label_column"] == ("kind" if named else 3)
    assert found["categorical"] == (["colour"] if named else [2])
    rows = load_dataset(experiment.dataset)
    is_blue = COLOURS == "blue"
    expected = np.column_stack([NUMBERS[:, :2], is_blue, ~is_blue])
    np.testing.assert_array_equal(rows.X, expected.astype(np.float32))
    np.testing.assert_array_equal(rows.y, np.where(KINDS == "yes", 1, -1))


TASKS = [
    (KINDS, [], "auc", {"positive": ["yes"]}, "yes is +1, all others are -1; 30 labelled rows"),
    (KINDS, ["--task", "svm", "--positive", "no"], "svm", {"positive": ["no"]}, "no is +1"),
    (KINDS, ["--trials", "7", "--labeled-rows", "20"], "auc", {}, "; 20 labelled rows, "),
    ((np.arange(N) % 3 == 0) + 4, [], "auc", {"positive": [5]}, ""),
    (GRADES, [], "ordinal", {"target": {"ordered": True}}, ": the labels in ascending order; "),
    (GRADES, ["--positive", "4"], "auc", {"positive": [4]}, ""),
    (NUMBERS[:, 2], ["--task", "ordinal"], "ordinal", {"target": {"bins": 5}}, "5 of equal freq"),
    (COLOURS, ["--task", "cluster"], "cluster", {"target": {"classes": ["blue", "red"]}}, ""),
    (GRADES, ["--task", "cluster"], "cluster", {"target": {"classes": True}}, "then judge"),
]  # fmt: skip


@pytest.mark.parametrize(("labels", "options", "task", "keys", "said"), TASKS)
def test_the_task_follows_from_the_labels(labels, options, task, keys, said):
    text = table(*NUMBERS.T, labels, names=("a", "b", "c", "l"))
    config, told, experiment = drafted(text, "--label", "l", *options)
    assert config["extends"] == f"base/try_{task}.yaml" and said in told
    assert {key: config["dataset"].get(key) for key in keys} == keys
    assert load_dataset(experiment.dataset).y.shape == (N,)
    assert experiment.protocol.trials == 7 or "--trials" not in options


def test_of_a_rare_class_more_rows_are_labelled():
    labels = np.arange(2000) % 100 == 0
    text = table(RNG.normal(size=2000), RNG.normal(size=2000), labels, names=("a", "b", "l"))
    config, _, _ = drafted(text, "--label", "l")
    assert config["protocol"] == {"labeled": 500}
    assert config["sweep"] == {"unlabeled": [200, 1000, "all"]}


@pytest.mark.parametrize(
    ("columns", "names", "likely"),
    [
        (COLUMNS, NAMES, "kind"),
        ((COLOURS, *NUMBERS.T), None, "0"),
        ((*NUMBERS.T, GRADES), ("a", "b", "c", "d"), "d"),
        ((NUMBERS[:, 0], NUMBERS[:, 2], NUMBERS[:, 1]), ("a", "Target", "c"), "Target"),
        ((NUMBERS[:, 0], GRADES, NUMBERS[:, 1]), None, None),  # whole numbers between others
    ],
)
def test_a_column_that_looks_like_labels_is_asked_about(columns, names, likely):
    text = table(*columns, names=names)
    if likely is not None:
        said = str(dsg_try(text).exception)
        assert said.endswith(
            f"did you mean --label {likely}? To cluster all columns: --task cluster"
        )
    config, told, _ = drafted(text, *(["--task", "cluster"] if likely else []))
    assert config["dataset"]["label_column"] is None
    assert f"no labels: {len(columns)} of {len(columns)} columns are features" in told
    assert "the Davies-Bouldin index, a weak criterion" in told


def test_a_config_is_never_written_over(monkeypatch):
    ran = []
    monkeypatch.setattr("dsgkit.cli.run._run_one", lambda _, folder, __: ran.append(folder.name))
    for options in ([], [], ["--task", "svm"]):
        done = dsg_try(PLAIN, "--label", "kind", *options)
        assert done.exit_code == 0, (done.output, done.exception)
    first = Path("rows_auc_try.yaml")
    first.write_text("# mine\n")
    assert dsg_try(PLAIN, "--label", "kind").exit_code == 0
    assert ran == ["rows_auc_try", "rows_auc_try", "rows_svm_try", "rows_auc_try2"]
    assert first.read_text() == "# mine\n"


def with_labels(labels):
    return table(*NUMBERS.T, labels, names=("a", "b", "c", "kind"))


HEAD, ROW, *ROWS = PLAIN.splitlines(keepends=True)
FILES = {
    "$EMPTY": "",
    "$PLAIN": PLAIN,
    "$HEADERLESS": table(*COLUMNS),
    "$ONE_CLASS": with_labels(["x"] * N),
    "$RARE": with_labels(["x"] * 4 + ["y"] * (N - 4)),
    "$FEW": table(*(column[:40] for column in COLUMNS)),
    "$LETTERS": with_labels(np.resize(list("abcd"), N)),
    "$TEXT": "".join([HEAD, *ROWS[:7], "1.2.3," + ROW.partition(",")[2], *ROWS[7:]]),
    "$COMMAS": table(*COLUMNS, names=NAMES, sign=";").replace("0.", "0,"),
    "$SHORT": PLAIN + "1,2\n",
    "$WORDS": "word\n" * N,
    "$LIBSVM": "1 1:2 3:4\n" * N,
}
"""Files that wrong_inputs.txt calls so."""


@pytest.mark.parametrize(("line", "answer"), cases("files to try"))
def test_what_cannot_be_tried_is_one_line(line, answer):
    name, *options = line.split()
    done = dsg_try(FILES[name], *options, "--dry-run")
    assert isinstance(done.exception, DsgError), (done.output, done.exception)
    assert str(done.exception) == answer and len(answer) < 300


def test_of_a_long_file_the_first_rows_are_taken(monkeypatch):
    monkeypatch.setattr("dsgkit.cli.first_look.MAX_ROWS", 70)
    config, told, experiment = drafted(PLAIN, "--label", "kind")
    assert config["dataset"]["rows"] == 70 and "the first 70 rows" in told
    assert len(load_dataset(experiment.dataset).X) == 70


@pytest.mark.slow
def test_a_run_ends_with_all_methods(monkeypatch, in_process):
    fewer = ["protocol.trials=1", "protocol.folds=2", "outputs=[auc_table]"]
    monkeypatch.setattr(
        "dsgkit.config.schema.load_experiment", lambda path: load_experiment(path, overrides=fewer)
    )
    done = dsg_try(LAYOUTS["semicolon"], "--label", "kind")
    assert done.exit_code == 0, (done.output, done.exception)
    (folder,) = Path("results").iterdir()
    cells = load_results(folder).cells
    assert set(cells["solver"]) == set(load_experiment("rows_auc_try.yaml").solvers)
    assert set(cells["status"]) == {"ok"}
