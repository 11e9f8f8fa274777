"""`dsg try`: what it takes of a file, the config that it writes, and what it refuses."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dsgkit.cli import cli, first_look
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


def dsg_try(text, *options, name="rows.csv"):
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return CliRunner().invoke(cli, ["try", name, *options], standalone_mode=True)


def drafted(text, *options):
    """Return the config, the lines that are printed, and a file with the config."""
    before = set(Path.cwd().iterdir()) | {Path("rows.csv").absolute()}
    done = dsg_try(text, *options, "--dry-run")
    assert done.exit_code == 0, (done.output, done.exception)
    assert set(Path.cwd().iterdir()) == before
    told, _, printed = done.output.partition("\n\n")
    *lines, last = told.splitlines()
    name = re.match(r"config    (\S+): not written", last)[1]
    config = Path(name)
    config.write_text(printed)
    return read_document(config).data, lines, config


def sentences(lines):
    """Return lines of the terminal without its line breaks."""
    return " ".join(line.strip() for line in lines)


def refusal(text, *options):
    done = dsg_try(text, *options, "--dry-run")
    assert isinstance(done.exception, DsgError), (done.output, done.exception)
    message = str(done.exception)
    assert message.startswith("rows.csv") and message.isprintable() and len(message) < 300
    return message.removeprefix("rows.csv")


HEADED = {"delimiter": ",", "header": True}
LAYOUTS = {
    "plain": (PLAIN, HEADED),
    "mark": ("\ufeff" + PLAIN, HEADED),
    "returns": (PLAIN.replace("\n", "\r\n"), HEADED),
    "semicolon": (table(*COLUMNS, names=NAMES, sign=";"), HEADED | {"delimiter": ";"}),
    "tab": (table(*COLUMNS, names=NAMES, sign="\t"), HEADED | {"delimiter": "\t"}),
    "quotes": (table(*COLUMNS, names=[f'"{name}"' for name in NAMES]), {"header": True}),
    "headerless": (table(*COLUMNS), {"delimiter": ","}),
    "blanks": (table(*COLUMNS, sign=" "), {}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_is_found(layout):
    text, dataset = LAYOUTS[layout]
    named = "header" in dataset
    config, lines, path = drafted(text, "--label", "kind" if named else "3")
    assert config["extends"] == "base/try_auc.yaml"
    found = config["dataset"]
    assert {key: found.get(key) for key in dataset} == dataset
    assert found["label_column"] == ("kind" if named else 3)
    assert found["categorical"] == (["colour"] if named else [2])
    assert found["positive"] == ["yes"] and ("header" in found) is named
    assert len(lines) <= 10 and all(line.isprintable() for line in lines)
    rows = load_dataset(load_experiment(path).dataset)
    is_blue = COLOURS == "blue"
    expected = np.column_stack([NUMBERS[:, :2], is_blue, ~is_blue])
    np.testing.assert_array_equal(rows.X, expected.astype(np.float32))
    np.testing.assert_array_equal(rows.y, np.where(KINDS == "yes", 1, -1))


@pytest.mark.parametrize(
    ("labels", "options", "task", "target"),
    [
        (KINDS, [], "auc", {"positive": ["yes"]}),
        (KINDS, ["--task", "svm", "--positive", "no"], "svm", {"positive": ["no"]}),
        (np.arange(N) % 3 == 0, [], "auc", {"positive": ["True"]}),
        ((np.arange(N) % 3 == 0) + 4, [], "auc", {"positive": [5]}),
        (GRADES, [], "ordinal", {"target": {"ordered": True}}),
        (GRADES, ["--positive", "4"], "auc", {"positive": [4]}),
        (NUMBERS[:, 2], ["--task", "ordinal"], "ordinal", {"target": {"bins": 5}}),
        (COLOURS, ["--task", "cluster"], "cluster", {"target": {"classes": ["blue", "red"]}}),
        (GRADES, ["--task", "cluster"], "cluster", {"target": {"classes": True}}),
    ],
)
def test_the_task_follows_from_the_labels(labels, options, task, target):
    text = table(*NUMBERS.T, labels, names=("a", "b", "c", "l"))
    config, _, path = drafted(text, "--label", "l", *options)
    assert config["extends"] == f"base/try_{task}.yaml"
    assert {key: config["dataset"].get(key) for key in target} == target
    assert load_dataset(load_experiment(path).dataset).y.shape == (N,)


def test_without_labels_clusters_are_looked_for():
    config, lines, path = drafted(table(*NUMBERS.T))
    assert "no labels: 3 of 3 columns are features" in sentences(lines)
    assert "the Davies-Bouldin index, a weak criterion" in sentences(lines)
    assert config["extends"] == "base/try_cluster.yaml"
    assert "`dsg init base/try_cluster`" in path.read_text()
    assert config["dataset"]["label_column"] is None
    assert load_dataset(load_experiment(path).dataset).X.shape == (N, 3)


def test_labels_that_are_many_judge_no_clusters():
    text = table(*NUMBERS.T, names=("a", "b", "c"))
    config, _, _ = drafted(text, "--label", "c", "--task", "cluster")
    assert config["dataset"]["label_column"] is None
    assert config["dataset"]["ignored"] == ["c"]


def test_of_a_rare_class_more_rows_are_labelled():
    labels = np.arange(2000) % 100 == 0
    text = table(RNG.normal(size=2000), RNG.normal(size=2000), labels, names=("a", "b", "l"))
    config, _, _ = drafted(text, "--label", "l")
    assert config["protocol"] == {"labeled": 500}
    assert config["sweep"] == {"unlabeled": [200, 1000, "all"]}


def test_a_config_is_never_written_over(monkeypatch):
    ran = []

    def run(experiment, folder, options):
        ran.append(str(folder))
        return ""

    monkeypatch.setattr("dsgkit.cli.run._run_one", run)
    for options in ([], [], ["--task", "svm"]):
        done = dsg_try(PLAIN, "--label", "kind", *options)
        assert done.exit_code == 0, (done.output, done.exception)
        assert f"  dsg report {ran[-1]}  one HTML page" in done.output
    first = Path("rows_auc_try.yaml")
    first.write_text("# mine\n")
    assert dsg_try(PLAIN, "--label", "kind").exit_code == 0
    names = ["rows_auc_try", "rows_auc_try", "rows_svm_try", "rows_auc_try2"]
    assert ran == [f"results/{name}" for name in names]
    assert first.read_text() == "# mine\n"


@pytest.mark.parametrize(
    ("columns", "names", "likely"),
    [
        (COLUMNS, NAMES, "kind"),
        ((KINDS, *NUMBERS.T), ("a", "b", "c", "d"), "a"),
        ((COLOURS, *NUMBERS.T), None, "0"),
        ((GRADES, *NUMBERS.T), None, "0"),
        ((*NUMBERS.T, GRADES), ("a", "b", "c", "d"), "d"),
        ((NUMBERS[:, 0], NUMBERS[:, 2], NUMBERS[:, 1]), ("a", "Target", "c"), "Target"),
        ((NUMBERS[:, 0], GRADES, NUMBERS[:, 1]), None, None),  # whole numbers between others
    ],
)
def test_a_column_that_looks_like_labels_is_asked_about(columns, names, likely):
    text = table(*columns, names=names)
    if likely is not None:
        meant = f"did you mean --label {likely}? To cluster all columns: --task cluster"
        assert refusal(text).endswith(f"looks like labels: {meant}")
    config, lines, _ = drafted(text, *(["--task", "cluster"] if likely else []))
    assert config["dataset"]["label_column"] is None
    assert f"no labels: {len(columns)} of {len(columns)} columns are features" in sentences(lines)


GRADED = table(*NUMBERS.T, GRADES, names=("a", "b", "c", "grade"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "3, 4, 5 are taken as ordered classes; "),
        (["--task", "svm", "--positive", "4"], "4 is +1, all others are -1;"),
        (["--task", "cluster"], "parameters are chosen without labels, by the Davies-Bouldin "),
    ],
)
def test_what_becomes_of_the_labels_is_said(options, said):
    _, lines, _ = drafted(GRADED, "--label", "grade", *options)
    assert said in sentences(lines)


def test_clusters_are_judged_by_labels_first():
    _, _, path = drafted(GRADED, "--label", "grade", "--task", "cluster")
    experiment = load_experiment(path)
    assert experiment.outputs[:3] == ["nmi_table", "purity_table", "rand_table"]
    assert experiment.protocol.select == "davies_bouldin"
    grids = [
        grid
        for solver in experiment.solvers.values()
        for stage in solver.search
        for grid in stage.choices.values()
        if len(grid) > 1
    ]
    # the findings say nothing of the edges of a grid of two values
    assert grids and all(len(grid) > 2 for grid in grids)


def with_labels(labels):
    return table(*NUMBERS.T, labels, names=("a", "b", "c", "kind"))


HEAD, ROW, *ROWS = PLAIN.splitlines(keepends=True)
FILES = {
    "$EMPTY": "",
    "$BLANK": "\n\n",
    "$HEADER": "size,kind\n",
    "$PLAIN": PLAIN,
    "$HEADERLESS": table(*COLUMNS),
    "$ONE_CLASS": with_labels(["x"] * N),
    "$RARE": with_labels(["x"] * 4 + ["y"] * (N - 4)),
    "$FEW": table(*(column[:40] for column in COLUMNS)),
    "$LETTERS": with_labels(np.resize(list("abcd"), N)),
    "$MEASURED": table(*NUMBERS.T, names=("a", "b", "kind")),
    "$TEXT": "".join([HEAD, *ROWS[:7], "1.2.3," + ROW.partition(",")[2], *ROWS[7:]]),
    "$COMMAS": table(*COLUMNS, names=NAMES, sign=";").replace("0.", "0,"),
    "$SHORT": PLAIN + "1,2\n",
    "$SHORT_FIRST": "a,b,kind\n1,2,x\n5,6\n7,8,x\n",
    "$WORDS": "word\n" * N,
    "$LIBSVM": "1 1:2 3:4\n" * N,
    "$UTF16": PLAIN.encode("utf-16"),
    "$RETURNS": PLAIN.replace("\n", "\r"),
}
"""Files that wrong_inputs.txt calls so."""


@pytest.mark.parametrize(("line", "answer"), cases("files to try"))
def test_what_cannot_be_tried_is_one_line(line, answer):
    name, *options = line.split()
    assert f"rows.csv{refusal(FILES[name], *options)}" == answer


def test_a_missing_file():
    Path("rows.csv").write_text(PLAIN)
    with pytest.raises(DsgError, match=r"no such file: row\.csv \(did you mean 'rows\.csv'\?\)"):
        first_look.draft(Path("row.csv"), None)


def test_of_a_long_file_the_first_rows_are_taken(monkeypatch):
    monkeypatch.setattr("dsgkit.cli.survey.MAX_ROWS", 70)
    config, lines, path = drafted(PLAIN, "--label", "kind")
    assert config["dataset"]["rows"] == 70 and "the first 70 rows" in lines[0]
    assert len(load_dataset(load_experiment(path).dataset).X) == 70


GROUPS = NUMBERS + 10 * (np.arange(N) % 2)[:, None]
RUNS = {
    "auc": (
        table(*COLUMNS, names=NAMES, sign=";"),
        ["--label", "kind"],
        ["protocol.folds=2", "outputs=[auc_table]"],
    ),
    "cluster": (
        table(*GROUPS.T, np.arange(N) % 2, sign="\t"),
        ["--label", "3"],
        ["outputs=[nmi_table]"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("task", RUNS)
def test_a_run_ends_with_all_methods(task, monkeypatch, in_process):
    text, options, fewer = RUNS[task]
    fewer = ["protocol.trials=1", *fewer]
    monkeypatch.setattr(
        "dsgkit.config.schema.load_experiment", lambda path: load_experiment(path, overrides=fewer)
    )
    done = dsg_try(text, *options, "--task", task)
    assert done.exit_code == 0, (done.output, done.exception)
    for said in ("- NMI: ", "NMI  Training time"):
        assert (said in done.output) is (task == "cluster")
    (folder,) = Path("results").iterdir()
    cells = load_results(folder).cells
    assert set(cells["solver"]) == set(load_experiment(f"rows_{task}_try.yaml").solvers)
    assert set(cells["status"]) == {"ok"}
