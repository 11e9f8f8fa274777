"""Every kind of mistake in a config: its exact line, key and advice."""

from pathlib import Path

import pytest

from dsgkit.config import load_experiment
from dsgkit.text.errors import ConfigError
from tests.config import conftest

HEAD = "dataset: {name: digits}\n"
MINIMAL = conftest.MINIMAL.removesuffix("protocol: {kind: semi_supervised_auc}\n")
HUGE = "9" * 400
TOO_LARGE = f"must be <= {2**63 - 1}, got {'9' * 57}..."
SCALE = "must be two increasing numbers, such as [0, 1]"
TAIL = "solvers: {samult: {grid: {lam: 1, sigma: 1}}}\n"


def with_solver(lines):
    return f"{HEAD}solvers:\n  samult:\n" + "".join(f"    {line}\n" for line in lines)


KNOWN = "; known: name, seed, dataset, protocol, sweep, solvers, threads, outputs"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # unknown and missing keys
        (
            MINIMAL + "protocl: {}\n",
            "c.yaml:5: protocl: unknown key 'protocl' (did you mean 'protocol'?)",
        ),
        (MINIMAL + "zzz: {}\n", "c.yaml:5: zzz: unknown key 'zzz'" + KNOWN),
        (
            f"{HEAD}{TAIL}protocol:\n  trails: 3\n",
            "c.yaml:4: protocol.trails: unknown key 'trails' (did you mean 'trials'?)",
        ),
        (
            f"{HEAD}{TAIL}protocol:\n  trails: 3\n  fold: 5\n",
            "c.yaml:4: protocol.trails: unknown key 'trails' (did you mean 'trials'?) (and 1 more)",
        ),
        (
            "datset: {name: digits}\n" + TAIL,
            "c.yaml:1: datset: unknown key 'datset' (did you mean 'dataset'?) (and 1 more)",
        ),
        (
            with_solver(["grids: {lam: 1}", "params: {sigma: 1}"]),
            "c.yaml:4: solvers.samult.grids: unknown key 'grids' (did you mean 'grid'?)",
        ),
        (TAIL, "c.yaml:1: missing key 'dataset'"),
        (HEAD, "c.yaml:1: missing key 'solvers'"),
        # wrong types
        (
            MINIMAL + "protocol:\n  trials: ten\n",
            "c.yaml:6: protocol.trials: must be a whole number, got 'ten'",
        ),
        (
            MINIMAL + "protocol:\n  trials: 2.5\n",
            "c.yaml:6: protocol.trials: must be a whole number, got 2.5",
        ),
        (
            MINIMAL + "protocol:\n  trials: true\n",
            "c.yaml:6: protocol.trials: must be a whole number, got true",
        ),
        (
            MINIMAL + "protocol:\n  trials:\n",
            "c.yaml:6: protocol.trials: must be a whole number, got null",
        ),
        (MINIMAL + "outputs: auc_table\n", "c.yaml:5: outputs: must be a list, got 'auc_table'"),
        (
            "dataset: {name: 3}\n" + TAIL,
            "c.yaml:1: dataset.name: must be text (put it in quotes), got 3",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, header: on}\n" + TAIL,
            "c.yaml:1: dataset.header: must be true or false, got 'on'",
        ),
        (
            MINIMAL + "protocol:\n  scale:\n  - 0\n  - one\n",
            f"c.yaml:6: protocol.scale: {SCALE}, got [0, 'one']",
        ),
        *(
            (
                MINIMAL + f"protocol: {{scale: {text}}}\n",
                f"c.yaml:5: protocol.scale: {SCALE}, got {text}",
            )
            for text in ("[0, 1, 2]", "[0]", "[]", "3", "[0, True]", "[[0], 1]", "[1, 1]", "[1, 0]")
        ),
        (
            MINIMAL + "protocol: {scale: [0, .inf]}\n",
            f"c.yaml:5: protocol.scale: {SCALE}, got [0, inf]",
        ),
        (
            MINIMAL + "protocol: {scale: 0..1}\n",
            f"c.yaml:5: protocol.scale: {SCALE}, got '0..1'",
        ),
        (
            MINIMAL + f"protocol: {{scale: [0, {HUGE}]}}\n",
            f"c.yaml:5: protocol.scale: {SCALE}, got [0, {'9' * 53}...",
        ),
        # integers that no machine holds
        *(
            (
                MINIMAL + f"protocol: {{{key}: {HUGE}}}\n",
                f"c.yaml:5: protocol.{key}: {TOO_LARGE}",
            )
            for key in ("labeled", "trials")
        ),
        (
            MINIMAL + f"sweep: {{unlabeled: [{HUGE}]}}\n",
            f"c.yaml:5: sweep.unlabeled.0: {TOO_LARGE}",
        ),
        (
            MINIMAL + f"seed: {HUGE}\n",
            f"c.yaml:5: seed: must be <= {2**64 - 1}, got {'9' * 57}...",
        ),
        (
            with_solver(["grid: {sigma: 1}", f"search_at: {{unlabeled: {HUGE}}}"]),
            f"c.yaml:5: solvers.samult.search_at.unlabeled: {TOO_LARGE}",
        ),
        (
            with_solver(["grid: {sigma: 1}", f"at_most: {{unlabeled: {HUGE}}}"]),
            f"c.yaml:5: solvers.samult.at_most.unlabeled: {TOO_LARGE}",
        ),
        (
            with_solver([f"grid: {{sigma: [{HUGE}]}}"]),
            "c.yaml:4: solvers.samult.grid.sigma.0: must be a number > 0 or 'scale', got "
            f"{'9' * 57}...",
        ),
        (
            with_solver([f"grid: {{sigma: -{HUGE}}}"]),
            "c.yaml:4: solvers.samult.grid.sigma: must be a number > 0 or 'scale', got "
            f"-{'9' * 56}...",
        ),
        (
            with_solver([f"params: {{sigma: 1, gamma: {HUGE}}}"]),
            "c.yaml:4: solvers.samult.params.gamma: must be a number between 0 and 1, "
            f"got {'9' * 57}...",
        ),
        (
            HEAD + "solvers: {qsg_s2auc: {params: {sigma: 1, batch_size: 1e300}}}\n",
            f"c.yaml:2: solvers.qsg_s2auc.params.batch_size: must be <= {2**63 - 1}, got 1e+300",
        ),
        (
            f"dataset: {{path: a.csv, loader: delimited, label_column: {HUGE}}}\n" + TAIL,
            f"c.yaml:1: dataset.label_column: {TOO_LARGE}",
        ),
        (
            f"dataset: {{path: a.csv, loader: delimited, positive: [{HUGE}]}}\n" + TAIL,
            f"c.yaml:1: dataset.positive.0: a label is a finite number or text, got {'9' * 57}...",
        ),
        (
            HEAD + "solvers: [samult]\n",
            "c.yaml:2: solvers: must be a mapping of keys to values, got ['samult']",
        ),
        (
            HEAD + "solvers: {samult: 3}\n",
            "c.yaml:2: solvers.samult: must be a mapping of keys to values, got 3",
        ),
        # protocol and sweep
        (MINIMAL + "seed: -1\n", "c.yaml:5: seed: must be >= 0, got -1"),
        (
            MINIMAL + "protocol: {labeled: 0}\n",
            "c.yaml:5: protocol.labeled: must be >= 1, got 0",
        ),
        (MINIMAL + "protocol: {folds: 1}\n", "c.yaml:5: protocol.folds: must be >= 2, got 1"),
        (
            MINIMAL + "protocol:\n  folds: 5\n  labeled: 4\n",
            "c.yaml:7: protocol.labeled: 4 rows cannot be cut into 5 folds",
        ),
        (
            MINIMAL + "sweep: {labelled: [500]}\n",
            "c.yaml:5: sweep.labelled: unknown key 'labelled' (did you mean 'labeled'?)",
        ),
        (
            MINIMAL + "sweep: {labeled: [50, all]}\n",
            "c.yaml:5: sweep.labeled.1: must be a whole number >= 1, got 'all'",
        ),
        (
            MINIMAL + "sweep: {labeled: [4, 50]}\n",
            "c.yaml:5: sweep.labeled.0: 4 rows cannot be cut into 5 folds",
        ),
        (
            MINIMAL + "sweep: {unlabeled: 500}\n",
            "c.yaml:5: sweep.unlabeled: must be a list, got 500",
        ),
        (
            MINIMAL + "sweep:\n  unlabeled:\n  - 500\n  - 200\n",
            "c.yaml:8: sweep.unlabeled.1: must be ascending without repeats, 'all' last",
        ),
        (
            MINIMAL + "sweep: {unlabeled: [500, 500]}\n",
            "c.yaml:5: sweep.unlabeled.1: must be ascending without repeats, 'all' last",
        ),
        (
            MINIMAL + "sweep: {unlabeled: [all, 500]}\n",
            "c.yaml:5: sweep.unlabeled.1: must be ascending without repeats, 'all' last",
        ),
        (
            MINIMAL + "sweep: {unlabeled: [0]}\n",
            "c.yaml:5: sweep.unlabeled.0: must be a whole number >= 1 or 'all', got 0",
        ),
        (
            MINIMAL + "sweep: {unlabeled: [true]}\n",
            "c.yaml:5: sweep.unlabeled.0: must be a whole number >= 1 or 'all', got true",
        ),
        (
            MINIMAL + "sweep: {unlabeled: []}\n",
            "c.yaml:5: sweep.unlabeled: must hold at least one size, or all",
        ),
        # solvers
        (HEAD + "solvers: {}\n", "c.yaml:2: solvers: must hold at least one solver"),
        (
            f"{HEAD}solvers:\n  samlut: {{grid: {{sigma: 1}}}}\n",
            "c.yaml:3: solvers.samlut: unknown solver 'samlut' (did you mean 'samult'?)",
        ),
        (
            with_solver(["grid: {sigma: 1}", "kind: qsg_auc"]),
            "c.yaml:5: solvers.samult.kind: unknown solver 'qsg_auc' (did you mean 'qsg_s2auc'?)",
        ),
        (
            with_solver(["grid:", "  sigma: 1", "  gama: 0..1 step 0.1"]),
            "c.yaml:6: solvers.samult.grid.gama: samult has no parameter 'gama' "
            "(did you mean 'gamma'?)",
        ),
        (
            with_solver(["params: {eta: 1}", "grid: {sigma: 1}"]),
            "c.yaml:4: solvers.samult.params.eta: samult has no parameter 'eta'"
            "; known: lam, sigma, gamma, kernel, max_memory, unlabeled_label",
        ),
        (
            with_solver(["params: {sigma: 1}", "grid: {sigma: 1}"]),
            "c.yaml:5: solvers.samult.grid.sigma: 'sigma' is in params too; keep one of them",
        ),
        (
            f"{HEAD}solvers: {{my solver: {{kind: samult, grid: {{sigma: 1}}}}}}\n",
            "c.yaml:2: solvers.my solver: a solver's key is made of letters, digits, _, + and -",
        ),
        (
            f"{HEAD}solvers:\n  samult: {{grid: {{sigma: 1}}}}\n"
            "  b: {kind: samult, grid: {sigma: 1}, label: SAMULT}\n",
            "c.yaml:4: solvers.b.label: has the label of 'samult': 'SAMULT'",
        ),
        (
            f"{HEAD}solvers:\n  samult: {{grid: {{sigma: 1}}}}\n  pnu_auc:\n",
            "c.yaml:4: solvers.pnu_auc: null removes a solver, but none is there"
            "; write {} for its defaults",
        ),
        # parameter values
        (
            with_solver(["grid:", "  sigma: 1", "  lam:", "  - 1", "  - 0"]),
            "c.yaml:8: solvers.samult.grid.lam.1: must be a number > 0, got 0",
        ),
        (
            with_solver(["grid: {sigma: 0..1 step 0.5}"]),
            "c.yaml:4: solvers.samult.grid.sigma: must be a number > 0 or 'scale', got 0.0",
        ),
        (
            with_solver(["grid: {sigma: 1, gamma: 0..2 step 1}"]),
            "c.yaml:4: solvers.samult.grid.gamma: must be a number between 0 and 1, got 2.0",
        ),
        (
            with_solver(["grid: {sigma: wide}"]),
            "c.yaml:4: solvers.samult.grid.sigma: must be a number > 0 or 'scale', got 'wide'",
        ),
        (
            with_solver(["grid:", "  sigma: 2^3..2^-3"]),
            "c.yaml:5: solvers.samult.grid.sigma: '2^3..2^-3' ends before it starts",
        ),
        (
            with_solver(["grid: {sigma: []}"]),
            "c.yaml:4: solvers.samult.grid.sigma: must hold at least one value",
        ),
        (
            with_solver(["grid: {sigma: [1, 2^0]}"]),
            "c.yaml:4: solvers.samult.grid.sigma: holds a value twice",
        ),
        (
            with_solver(["grid: {sigma: [[1]]}"]),
            "c.yaml:4: solvers.samult.grid.sigma.0: must be a number > 0 or 'scale', got [1]",
        ),
        (
            with_solver(["grid: {sigma: .nan}"]),
            "c.yaml:4: solvers.samult.grid.sigma: must be a number > 0 or 'scale', got nan",
        ),
        (
            with_solver(["params: {sigma: true}"]),
            "c.yaml:4: solvers.samult.params.sigma: must be a number > 0 or 'scale', got true",
        ),
        (
            with_solver(["params: {sigma: [1, 2]}"]),
            "c.yaml:4: solvers.samult.params.sigma: must be a number > 0 or 'scale', got [1, 2]",
        ),
        (
            HEAD + "solvers: {qsg_s2auc: {params: {sigma: 1, t0: quick}}}\n",
            "c.yaml:2: solvers.qsg_s2auc.params.t0: must be a number >= 0 or 'stable', got 'quick'",
        ),
        (
            HEAD + "solvers: {qsg_s2auc: {params: {sigma: 1, batch_size: 2.5}}}\n",
            "c.yaml:2: solvers.qsg_s2auc.params.batch_size: must be a whole number >= 1, got 2.5",
        ),
        (
            HEAD + "solvers: {pnu_auc: {params: {sigma: 1, prior: 1}}}\n",
            "c.yaml:2: solvers.pnu_auc.params.prior: must be a number strictly between 0 and 1 or "
            "'penl1', got 1",
        ),
        (
            HEAD + "solvers: {pnu_auc: {grid: {sigma: 1, eta: [-1.5]}}}\n",
            "c.yaml:2: solvers.pnu_auc.grid.eta.0: must be a number between -1 and 1, got -1.5",
        ),
        (
            with_solver(["grid: {sigma: 1}", "search_at: {unlabeled: most}"]),
            "c.yaml:5: solvers.samult.search_at.unlabeled: must be a whole number >= 1 or 'all', "
            "got 'most'",
        ),
        (
            with_solver(["grid: {sigma: 1}", "at_most: {unlabeled: 0}"]),
            "c.yaml:5: solvers.samult.at_most.unlabeled: must be a whole number >= 1, got 0",
        ),
        # two searches, and what goes with a metric
        (
            MINIMAL + "outputs: [balance_table]\n",
            "c.yaml:5: outputs.0: unknown output 'balance_table' (did you mean 'auc_table'?)",
        ),
        # outputs and name
        (
            MINIMAL + "outputs:\n- auc_table\n- auc_boxplots\n",
            "c.yaml:7: outputs.1: unknown output 'auc_boxplots' (did you mean 'auc_boxplot'?)",
        ),
        (
            MINIMAL + "outputs: [auc_table, gain_table]\n",
            "c.yaml:5: outputs.1: no solver is compared `against` another one",
        ),
        (
            MINIMAL + "outputs: [auc_table, auc_table]\n",
            "c.yaml:5: outputs.1: 'auc_table' is listed twice",
        ),
        (
            MINIMAL + "name: ../up\n",
            "c.yaml:5: name: a name starts with a letter or digit and holds no slash, got '../up'",
        ),
        # dataset
        (
            "dataset: {}\n" + TAIL,
            "c.yaml:1: dataset: needs the name of a known dataset or the path of a file",
        ),
        (
            "dataset:\n  name: digits\n  loader: libsvm\n" + TAIL,
            "c.yaml:3: dataset.loader: comes with the named dataset; leave it out",
        ),
        (
            "dataset: {path: a.csv}\n" + TAIL,
            "c.yaml:1: dataset: a path needs its loader: libsvm, delimited or reviews",
        ),
        (
            "dataset: {path: a.csv, loader: csv}\n" + TAIL,
            "c.yaml:1: dataset.loader: must be 'libsvm', 'delimited' or 'reviews', got 'csv'",
        ),
        (
            "dataset:\n  path: a\n  loader: libsvm\n  header: true\n" + TAIL,
            "c.yaml:4: dataset.header: is for the delimited loader",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, positive: [[1]]}\n" + TAIL,
            "c.yaml:1: dataset.positive.0: a label is a finite number or text, got [1]",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, positive: []}\n" + TAIL,
            "c.yaml:1: dataset.positive: must hold at least one label",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, name: ../up}\n" + TAIL,
            "c.yaml:1: dataset.name: a name starts with a letter or digit and holds no slash, "
            "got '../up'",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, name: digits}\n" + TAIL,
            "c.yaml:1: dataset.name: 'digits' is a registered dataset"
            "; call the file by another name",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: {bins: 5, ordered: true}}\n" + TAIL,
            "c.yaml:1: dataset.target: needs one of positive: [labels], "
            "bins: count, ordered: true, classes: true and numeric: true",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: {}}\n" + TAIL,
            "c.yaml:1: dataset.target: needs one of positive: [labels], "
            "bins: count, ordered: true, classes: true and numeric: true",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: bins}\n" + TAIL,
            "c.yaml:1: dataset.target: must be a mapping of keys to values, got 'bins'",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: {bin: 5}}\n" + TAIL,
            "c.yaml:1: dataset.target.bin: unknown key 'bin' (did you mean 'bins'?)",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: {bins: 1}}\n" + TAIL,
            "c.yaml:1: dataset.target.bins: must be >= 2, got 1",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: {bins: 40000}}\n" + TAIL,
            "c.yaml:1: dataset.target.bins: must be <= 32767, got 40000",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: {bins: five}}\n" + TAIL,
            "c.yaml:1: dataset.target.bins: must be a whole number, got 'five'",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: {ordered: false}}\n" + TAIL,
            "c.yaml:1: dataset.target.ordered: must be true or the labels "
            "from low to high, got false",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: {ordered: [low]}}\n" + TAIL,
            "c.yaml:1: dataset.target.ordered: must hold at least two labels",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: {ordered: [1, 2, 1.0]}}\n" + TAIL,
            "c.yaml:1: dataset.target.ordered.2: label 1 is listed twice",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: {ordered: [1, [2]]}}\n" + TAIL,
            "c.yaml:1: dataset.target.ordered.1: a label is a finite number or text, got [2]",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, target: {positive: []}}\n" + TAIL,
            "c.yaml:1: dataset.target.positive: must hold at least one label",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, positive: [1], target: {bins: 5}}\n" + TAIL,
            "c.yaml:1: dataset.positive: is short for target: {positive: ...}; "
            "leave one of them out",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, label_columns: []}\n" + TAIL,
            "c.yaml:1: dataset.label_columns: must hold at least one column",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, label_columns: [0, 0]}\n" + TAIL,
            "c.yaml:1: dataset.label_columns.1: column 0 is listed twice",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, label_columns: [0], label_column: 1}\n"
            + TAIL,
            "c.yaml:1: dataset.label_columns: takes the place of label_column; "
            "leave one of them out",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, categorical: 0}\n" + TAIL,
            "c.yaml:1: dataset.categorical: must be a list, got 0",
        ),
        (
            "dataset: {path: a.csv, loader: delimited, components: 5}\n" + TAIL,
            "c.yaml:1: dataset.components: is for the reviews loader",
        ),
        (
            "dataset: {path: a, loader: reviews, n_features: 5}\n" + TAIL,
            "c.yaml:1: dataset.n_features: is not for reviews; say components",
        ),
        (
            "dataset: {path: a, loader: reviews, categorical: [0]}\n" + TAIL,
            "c.yaml:1: dataset.categorical: is for the delimited loader",
        ),
        (
            "dataset: {name: digits, label_columns: [0]}\n" + TAIL,
            "c.yaml:1: dataset.label_columns: comes with the named dataset; leave it out",
        ),
        # bases and profiles
        (MINIMAL + "extends: [a, b]\n", "c.yaml:5: extends: must be the path of one config file"),
        (MINIMAL + "extends:\n", "c.yaml:5: extends: must be the path of one config file"),
        (MINIMAL + "extends: b/x.yaml\n", "c.yaml:5: extends: no such config file: b/x.yaml"),
        (
            MINIMAL + "extends: base/s2uac.yaml\n",
            "c.yaml:5: extends: no such config file: base/s2uac.yaml (did you mean "
            "'base/s2auc.yaml'?)",
        ),
        (MINIMAL + "extends: c.yaml\n", "c.yaml:5: extends: leads in a circle: c.yaml -> c.yaml"),
        (
            MINIMAL + "profiles: [quick]\n",
            "c.yaml:5: profiles: must be a mapping of names to settings",
        ),
        (
            MINIMAL + "profiles:\n  quick: 3\n",
            "c.yaml:6: profiles.quick: must be a mapping of settings",
        ),
    ],
)
def test_the_one_line_that_is_wrong(message, text, expected):
    assert message(text) == expected


def test_an_unknown_dataset_names_the_nearest(message):
    found = message(MINIMAL.replace("digits", "digitz"))
    assert found.startswith("c.yaml:1: dataset.name: ")
    assert "'digitz'" in found
    assert "did you mean" in found
    assert "digits" in found


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000])
def test_a_number_too_long_to_print_is_shortened(message, number):
    found = message(MINIMAL + f"seed: {number}\n")
    assert found.startswith("c.yaml:5:")
    assert len(found) < 200


@pytest.mark.parametrize("seed", [0, 2**63, 2**64 - 1])
def test_seeds_of_64_bits_are_accepted(folder, seed):
    assert load_experiment(folder(conftest.MINIMAL + f"seed: {seed}\n")).seed == seed


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("protocol.trails=3", "unknown key 'trails' (did you mean 'trials'?)"),
        ("protocol.trials=ten", "must be a whole number, got 'ten'"),
        ("protocol.trials.x=3", "must be a whole number, got {'x': 3}"),
        ("solvers.samlut.grid.lam=1", "unknown solver 'samlut' (did you mean 'samult'?)"),
        (
            "solvers.samlut=null",
            "null removes a solver, but none is there (did you mean 'samult'?)",
        ),
        ("solvers.samult.grid.lam=[1, -1]", "must be a number > 0, got -1"),
        ("solvers.samult.grid.lam=1..2", "'1..2' needs a step, such as 1..2 step 0.1"),
        ("sweep.unlabeled=[2, 1]", "must be ascending without repeats, 'all' last"),
        ("profiles.quick.seed=1", "unknown key 'profiles'" + KNOWN),
        ("protocol", "write key=value, such as protocol.trials=3"),
        ("=3", "write key=value, such as protocol.trials=3"),
        ("protocol..trials=3", "write key=value, such as protocol.trials=3"),
        ("seed=", "no value after '='; write null if you mean nothing"),
        ("seed={a: 1, a: 2}", "repeated key 'a', first in line 1"),
    ],
)
def test_a_wrong_override_names_itself(message, override, expected):
    assert message(MINIMAL, overrides=[override]) == f"--set {override}: {expected}"


def test_an_override_that_contradicts_the_file_points_at_the_file(message):
    assert message(MINIMAL, overrides=["solvers.samult.params.lam=1"]) == (
        "c.yaml:4: solvers.samult.grid.lam: 'lam' is in params too; keep one of them"
    )
    assert message(MINIMAL, overrides=["solvers.samult=null"]) == (
        "c.yaml:2: solvers: must hold at least one solver"
    )


def test_a_mistake_in_a_base_names_the_base(folder, message):
    folder("protocol:\n  trials: x\n", "base/b.yaml")
    assert message(MINIMAL + "extends: base/b.yaml\n") == (
        "base/b.yaml:2: protocol.trials: must be a whole number, got 'x'"
    )


def test_a_mistake_in_a_profile_names_its_line(message):
    text = MINIMAL + "profiles:\n  quick:\n    protocol:\n      trials: x\n"
    assert message(text, profile="quick") == (
        "c.yaml:8: protocol.trials: must be a whole number, got 'x'"
    )


@pytest.mark.parametrize(
    ("profiles", "advice"),
    [
        ("profiles: {quick: {}, wide: {}}\n", " (did you mean 'quick'?)"),
        ("profiles: {wide: {}, full: {}}\n", "; known: wide, full"),
    ],
)
def test_an_unknown_profile(message, profiles, advice):
    found = message(MINIMAL + profiles, profile="quik")
    assert found == f"c.yaml: unknown profile 'quik'{advice}"


def test_a_profile_of_a_file_without_profiles(message):
    assert message(MINIMAL, profile="quick") == (
        "c.yaml: has no profiles; leave out --profile 'quick', or add `profiles` to the file"
    )


def test_a_circle_of_bases_is_named(folder, message):
    folder("extends: ../c.yaml\n", "base/b.yaml")
    assert message(MINIMAL + "extends: base/b.yaml\n") == (
        "base/b.yaml:1: extends: leads in a circle: c.yaml -> b.yaml -> c.yaml"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("protocol: 3\n", "c.yaml:5: protocol: must be a mapping of keys to values, got 3"),
        ("", "c.yaml:1: missing key 'protocol'"),
        (
            "protocol: {trials: 3}\n",
            "c.yaml:5: protocol: missing key 'kind'; known: semi_supervised_auc, "
            "semi_supervised_svm",
        ),
        (
            "protocol: {kind: semi_supervised_error}\n",
            "c.yaml:5: protocol.kind: unknown task 'semi_supervised_error' (did you mean "
            "'semi_supervised_svm'?)",
        ),
        (
            "protocol: {kind: semi_supervised_svm}\n",
            "c.yaml:3: solvers.samult: samult is for semi_supervised_auc, not semi_supervised_svm",
        ),
        (
            "protocol: {kind: 'nowhere:TASK'}\n",
            "c.yaml:5: protocol.kind: module 'nowhere' is neither on sys.path nor in ",
        ),
    ],
)
def test_a_config_names_its_task(message, text, expected):
    assert message(MINIMAL + text, kind=None).startswith(expected)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["search: {grid: {sigma: 1}}"],
            "c.yaml:4: solvers.samult.search: must be a list of stages, got {'grid': {'sigma': 1}}",
        ),
        (
            ["search:", "- grid: {sigma: [1, 2]}", "- gird: {lam: [1, 2]}"],
            "c.yaml:6: solvers.samult.search.1.gird: unknown key 'gird' (did you mean 'grid'?)",
        ),
        (
            ["search:", "- grid: {sigma: [1, 2]}", "- 3"],
            "c.yaml:6: solvers.samult.search.1: must be a mapping of keys to values, got 3",
        ),
        (
            ["search:", "- grid: {sigma: [1, 2]}", "- grid: {lam: [1, 0]}"],
            "c.yaml:6: solvers.samult.search.1.grid.lam.1: must be a number > 0, got 0",
        ),
        (
            ["search:", "- grid: {sigma: 1}", "- grid: {lam: [1, 2]}"],
            "c.yaml:5: solvers.samult.search.0: leaves nothing to choose",
        ),
        (
            ["search:", "- {grid: {lam: [1, 2]}, coordinates: {gamma: [0, 1]}}"],
            "c.yaml:5: solvers.samult.search.0.coordinates: is in place of a grid, but there is "
            "`grid` too",
        ),
        (
            ["search:", "- coordinates: {lam: [1, 2]}"],
            "c.yaml:5: solvers.samult.search.0.coordinates.lam: 'lam' of samult is one number; "
            "take `grid`",
        ),
        (
            ["search:", "- coordinates: {lam: [1, 2], gamma: [0, 1]}"],
            "c.yaml:5: solvers.samult.search.0.coordinates: takes one parameter at a time",
        ),
        (
            ["params: {sigma: 1}", "search:", "- grid: {sigma: [1, 2]}"],
            "c.yaml:6: solvers.samult.search.0.grid.sigma: 'sigma' is in params too; keep one of "
            "them",
        ),
        (
            ["grid: {sigma: 1}", "search: []"],
            "c.yaml:4: solvers.samult.grid: is short for a search of one stage, but there is "
            "`search` too",
        ),
        (
            ["grid: 3"],
            "c.yaml:4: solvers.samult.grid: must be a mapping of keys to values, got 3",
        ),
        (
            ["params: 3"],
            "c.yaml:4: solvers.samult.params: must be a mapping of keys to values, got 3",
        ),
        (
            ["at_most: {unlabelled: 3}"],
            "c.yaml:4: solvers.samult.at_most.unlabelled: unknown key 'unlabelled' (did you mean "
            "'unlabeled'?)",
        ),
        (
            ["at_most: {unlabeled: all}"],
            "c.yaml:4: solvers.samult.at_most.unlabeled: must be a whole number >= 1, got 'all'",
        ),
        (
            ["against: samult"],
            "c.yaml:4: solvers.samult.against: is the solver itself; name another one",
        ),
        (
            ["against: pnu_auc"],
            "c.yaml:4: solvers.samult.against: there is no solver 'pnu_auc'; there is no other one",
        ),
        (
            ["against: [pnu_auc]"],
            "c.yaml:4: solvers.samult.against: there is no solver ['pnu_auc']; there is no other "
            "one",
        ),
        (
            ["search_at: 3"],
            "c.yaml:4: solvers.samult.search_at: must be a mapping of keys to values, got 3",
        ),
    ],
)
def test_searches_and_sizes(message, lines, expected):
    assert message(with_solver(lines)) == expected


@pytest.mark.parametrize(
    ("param", "expected"),
    [
        ("balance: 1", "balance: must be true or false, got 1"),
        ("balance: 'yes'", "balance: must be true or false, got 'yes'"),
        ("balance: null", "balance: must be true or false, got null"),
        ("ramp_s: 0.5", "ramp_s: must be a number > -1 and <= 0, got 0.5"),
        ("C_star: -1", "C_star: must be a number >= 0 or null, got -1"),
    ],
)
def test_values_of_classifiers(message, param, expected):
    found = message(
        f"{HEAD}solvers: {{bls3vm: {{params: {{{param}}}}}}}\n", kind="semi_supervised_svm"
    )
    assert found == f"c.yaml:2: solvers.bls3vm.params.{expected}"


@pytest.mark.parametrize("name", ["batch_size", "n_features", "n_iterations", "random_state"])
@pytest.mark.parametrize("value", [HUGE, "-1"])
def test_whole_numbers_that_no_machine_holds_are_told_in_a_short_line(message, name, value):
    found = message(HEAD + f"solvers: {{qsg_s2auc: {{params: {{sigma: 1, {name}: {value}}}}}}}\n")
    assert found.startswith(f"c.yaml:2: solvers.qsg_s2auc.params.{name}: must be ")
    assert found.endswith(f"got {value if len(value) < 60 else value[:57] + '...'}")


CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.mark.parametrize(
    "wrong", ["protocol.trails=3", "protocol.trials=two", "sweep.unlabeled=[100, lots]"]
)
def test_one_mistake_is_told_as_one(wrong):
    """What depends on the wrong part is not told as a mistake of its own."""
    with pytest.raises(ConfigError) as error:
        load_experiment(CONFIGS / "quickstart.yaml", overrides=[wrong])
    assert "more)" not in str(error.value)
