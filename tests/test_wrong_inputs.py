"""Wrong inputs, each with the one line that answers it: command lines, settings and configs."""

# ruff: noqa: E501  lines stand as they are printed

import pytest

from dsgkit.config import shipped
from tests.test_hostile_commands import dsg, one_line  # noqa: F401  a fixture

GOOD = """\
dataset: {path: rows.csv, loader: delimited, header: true, label_column: kind, positive: ["yes"]}
protocol: {kind: semi_supervised_auc, labeled: 20, trials: 2}
solvers: {samult: {}}
"""

COMMANDS = [
    ("run nothing.yaml", 1, "nothing.yaml: no such config file"),
    (
        "run quickstrat",
        1,
        "no config file or shipped config 'quickstrat' (did you mean 'quickstart'?)",
    ),
    (
        "run good.yaml --profile quick",
        1,
        "good.yaml: has no profiles; leave out --profile 'quick', or add `profiles` to the file",
    ),
    (
        "run quickstart --profile quik",
        1,
        "CONFIGS/quickstart.yaml: unknown profile 'quik' (did you mean 'quick'?)",
    ),
    (
        "run good.yaml --set protocol.trails=3",
        1,
        "--set protocol.trails=3: unknown key 'trails' (did you mean 'trials'?)",
    ),
    (
        "run good.yaml --set protocol.trials=many",
        1,
        "--set protocol.trials=many: must be a whole number, got 'many'",
    ),
    ("run good.yaml --set protocol.trials=0", 1, "--set protocol.trials=0: must be >= 1, got 0"),
    (
        "run good.yaml --set protocol.trials",
        1,
        "--set protocol.trials: write key=value, such as protocol.trials=3",
    ),
    (
        "run good.yaml --set protocol.trials=",
        1,
        "--set protocol.trials=: no value after '='; write null if you mean nothing",
    ),
    (
        "run good.yaml --set solvers.samul={}",
        1,
        "--set solvers.samul={}: unknown solver 'samul' (did you mean 'samult'?)",
    ),
    (
        "run good.yaml --set solvers.samult.params.lamda=1",
        1,
        "--set solvers.samult.params.lamda=1: samult has no parameter 'lamda' (did you mean 'lam'?)",
    ),
    (
        "run good.yaml --set solvers.samult.grid.lam=[-1]",
        1,
        "--set solvers.samult.grid.lam=[-1]: must be a number > 0, got -1",
    ),
    (
        "run good.yaml --set sweep.unlabeled=[20,10]",
        1,
        "--set sweep.unlabeled=[20,10]: must be ascending without repeats, 'all' last",
    ),
    (
        "run good.yaml --set protocol.labeled=1000",
        1,
        "dataset rows.csv: 1,000 labelled rows asked for, but it has 60 rows and some must stay unlabelled; lower `labeled`",
    ),
    (
        "run good.yaml --set dataset.path=gone.csv",
        1,
        "dataset gone.csv: no such file: HERE/gone.csv (did you mean 'rows.csv'?)",
    ),
    (
        "run good.yaml --set dataset.label_column=kinds",
        1,
        "HERE/rows.csv: label_column 'kinds': no such column (did you mean 'kind'?)",
    ),
    (
        "run good.yaml --set dataset.positive=[maybe]",
        1,
        "dataset rows.csv: no row has the label maybe, which `positive` names; the rows have no, yes",
    ),
    (
        "run good.yaml --set outputs=[auc_tabel]",
        1,
        "--set outputs=[auc_tabel]: unknown output 'auc_tabel' (did you mean 'auc_table'?)",
    ),
    (
        "run good.yaml --solvers samul",
        2,
        "Invalid value for --solvers: no solver is called 'samul' (did you mean 'samult'?)",
    ),
    ("run good.yaml --jobs 0", 2, "Invalid value for '--jobs': 0 is not in the range 1<=x<=1024."),
    (
        "run good.yaml --jobs many",
        2,
        "Invalid value for '--jobs': 'many' is not a valid whole number.",
    ),
    (
        "run good.yaml --timeout soon",
        2,
        "Invalid value for '--timeout': 'soon' is not a valid number of seconds.",
    ),
    (
        "run good.yaml --memory-limit lots",
        2,
        "Invalid value for '--memory-limit': 'lots' is not a size; write one such as 4GiB or 500MB",
    ),
    (
        "run good.yaml --scheduler here",
        1,
        "'here' is not an address, such as tcp://host:8786",
    ),
    (
        "run good.yaml --report rows.csv/page.html",
        1,
        "rows.csv: cannot write the page there; use another --report",
    ),
    (
        "run good.yaml --out rows.csv/results",
        1,
        "rows.csv/results: cannot write results there; use another --out",
    ),
    (
        "run good.yaml --name a/b",
        1,
        "--name a/b: a name starts with a letter or digit and holds no slash, got 'a/b'",
    ),
    (
        "run good.yaml good.yaml",
        2,
        "two of the configs have the same name, and would share results",
    ),
    ("run good.yaml quickstart --name x", 2, "--name is for one config; run them one by one"),
    (
        "run codrna_s2auc",
        1,
        "dataset codrna: files cod-rna, cod-rna.t are missing; get them from https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/cod-rna, https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/cod-rna.t and put them in CACHE/downloads/cod-rna, or set DSGKIT_DATA",
    ),
    ("init quickstrat", 1, "no shipped config 'quickstrat' (did you mean 'quickstart'?)"),
    ("init quickstart good.yaml", 1, "good.yaml: is there already; name another file"),
    (
        "status nowhere",
        1,
        "nowhere: not a results folder; name one that a run made, such as results/NAME",
    ),
    (
        "table nowhere",
        1,
        "nowhere: not a results folder (it has no config.yaml); name a folder that a run made",
    ),
    (
        "table .",
        1,
        ".: not a results folder (it has no config.yaml); name a folder that a run made",
    ),
    (
        "plot nowhere --format jpg",
        2,
        "Invalid value for '--format': 'jpg' is not a figure format; known: pdf, png, svg",
    ),
    ("plot a b", 2, "several results folders need --out, the folder to write to"),
    (
        "report nowhere --solvers a",
        2,
        "--solvers needs --out: the results folder's own report has all solvers",
    ),
    ("explain", 2, "Missing argument 'NAME'; see: dsg explain --help"),
    ("run", 2, "Missing argument 'CONFIGS...'; see: dsg run --help"),
    ("try .", 1, ". is a folder, not a file"),
    (
        "try rows.csv --label kind --positive maybe",
        1,
        "rows.csv: --positive 'maybe': no row has this label; known: no, yes",
    ),
    ("explain qsg_s2acu", 1, "nothing is called 'qsg_s2acu' (did you mean 'qsg_s2auc'?)"),
    ("data info digit", 1, "unknown dataset 'digit' (did you mean 'digits'?)"),
    (
        "data fetch ijcnn1",
        1,
        "dataset ijcnn1: files ijcnn1.bz2, ijcnn1.t.bz2 are missing; get them from https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/ijcnn1.bz2, https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/ijcnn1.t.bz2 and put them in CACHE/downloads/ijcnn1, or set DSGKIT_DATA",
    ),
    ("claims --paper s2auk", 1, "unknown paper 's2auk' (did you mean 's2auc'?)"),
    ("claims --id s2auc-99", 1, "unknown claim 's2auc-99' (did you mean 's2auc-19'?)"),
    ("figure s2auc/99", 1, "s2auc has no figure or table '99'; known: table-1, 1, table-2, 2"),
    ("figure s2", 1, "unknown paper 's2'; known: s2auc, ordinal, s3vm, su, svc"),
]

CONFIGS = [
    (
        "extends: base/s2uac.yaml\n",
        "c.yaml:1: extends: no such config file: base/s2uac.yaml (did you mean 'base/s2auc.yaml'?)",
    ),
    ("seed: 0\nseed: 1\n", "c.yaml:2: repeated key 'seed', first in line 1"),
    (
        "protocol: [\n",
        "c.yaml:2: not valid YAML: expected the node content, but found '<stream end>'",
    ),
    (
        "datasets: {name: iris}\n",
        "c.yaml:1: datasets: unknown key 'datasets' (did you mean 'dataset'?) (and 3 more)",
    ),
    (
        "dataset: {name: codrnaa}\nprotocol: {kind: semi_supervised_auc}\nsolvers: {samult: {}}\n",
        "c.yaml:1: dataset.name: unknown dataset 'codrnaa' (did you mean 'codrna'?)",
    ),
    (
        "dataset: {name: iris}\nprotocol: {kind: clusterin}\nsolvers: {svc: {}}\n",
        "c.yaml:2: protocol.kind: unknown task 'clusterin' (did you mean 'clustering'?)",
    ),
    (
        "dataset: {name: codrna}\nprotocol: {kind: semi_supervised_auc}\nsolvers: {samult: {grid: {lam: 2^-3...2^3}}}\n",
        "c.yaml:3: solvers.samult.grid.lam: '2^-3...2^3' is not a range: write a number, 2^-3..2^3, 0..1 step 0.1, or a list",
    ),
    (
        "dataset: {name: codrna}\nprotocol: {kind: semi_supervised_auc}\nsolvers: {mine: {kind: my_solvers.MySolver}}\n",
        "c.yaml:3: solvers.mine.kind: unknown solver 'my_solvers.MySolver'; write my_solvers:MySolver for a class",
    ),
    (
        "dataset: {name: codrna}\nprotocol: {kind: semi_supervised_auc}\nsolvers: {tsgs3vm: {}}\n",
        "c.yaml:3: solvers.tsgs3vm: tsgs3vm is for semi_supervised_svm, not semi_supervised_auc",
    ),
    ("", "c.yaml: the file is empty"),
]


@pytest.fixture
def answer(dsg, tmp_path, monkeypatch):  # noqa: F811
    """Run a command next to a good config and its rows; return its exit code and error."""
    monkeypatch.delenv("DSGKIT_DATA", raising=False)
    rows = (f"{i % 7},{i % 5},{'yes' if i % 2 else 'no'}\n" for i in range(60))
    (tmp_path / "rows.csv").write_text("a,b,kind\n" + "".join(rows))
    (tmp_path / "good.yaml").write_text(GOOD)
    places = {
        "CACHE": f"{tmp_path.parent}/cache-{tmp_path.name}",
        "CONFIGS": str(shipped.folder()),
        "HERE": str(tmp_path),
    }

    def run(*words):
        before = sorted(tmp_path.rglob("*"))
        code, out, err = dsg(*words)
        assert out == "" or (out.startswith("--set changes results: ") and out.count("\n") == 1)
        line = one_line(code, "", err).removeprefix("Error: ")
        for name, path in places.items():
            line = line.replace(path, name)
        assert sorted(tmp_path.rglob("*")) == before
        return code, line

    return run


def test_there_are_forty():
    assert len(COMMANDS) + len(CONFIGS) >= 40


@pytest.mark.parametrize(("line", "code", "expected"), COMMANDS, ids=[one[0] for one in COMMANDS])
def test_a_wrong_command_line_is_answered(line, code, expected, answer):
    assert answer(*line.split()) == (code, expected)


@pytest.mark.parametrize(("text", "expected"), CONFIGS, ids=[one[1] for one in CONFIGS])
def test_a_wrong_config_is_answered(text, expected, answer, tmp_path):
    (tmp_path / "c.yaml").write_text(text)
    assert answer("run", "c.yaml") == (1, expected)
