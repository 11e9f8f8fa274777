import importlib
import os
import shutil
import signal
import sys
from contextlib import contextmanager

import numpy as np
import pytest
import yaml
from hypothesis import settings

# no deadline: the first call of a test may compile
settings.register_profile("dsgkit", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("explore", deadline=None, max_examples=5000)
settings.load_profile("dsgkit")

TOY_CONFIG = {
    "dataset": {"path": "toy.csv", "loader": "delimited"},
    "protocol": {
        "kind": "semi_supervised_auc",
        "labeled": 30,
        "scale": [0, 1],
        "trials": 2,
        "folds": 3,
    },
    "sweep": {"unlabeled": [40, "all"]},
    "solvers": {
        "qsg_s2auc": {
            "params": {"batch_size": 16, "n_features": 8, "n_iterations": 20},
            "grid": {"lam": [0.25, 1.0], "sigma": [0.5, 2.0], "gamma": [0.0, 0.5]},
            "search_at": {"unlabeled": 50},
        },
        "samult": {"grid": {"lam": [0.25, 1.0], "sigma": [1.0], "gamma": [0.5]}},
        "pnu_auc": {
            "params": {"prior": "class_proportion", "lam": 0.5},
            "grid": {"sigma": [1.0], "eta": [-0.5, 0.0, 0.5]},
        },
        "rff_s2auc": {
            "params": {"n_features": 20, "lam": 0.5, "sigma": 1.0, "gamma": 0.5},
        },
    },
    "outputs": ["auc_table", "time_table", "auc_boxplot", "time_curve"],
}


def pytest_collection_modifyitems(items):
    """Begin with the files of long tests: at the end, no process waits long for another."""
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(scope="session", autouse=True)
def interrupts():
    """Have all processes of tests hear signals: a background job, or ``nohup``, ignores some."""
    heard = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    for number, handler in heard.items():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def not_the_first_use():
    """Have no command say that it compiles."""
    from dsgkit.system.files import is_first_use

    is_first_use()


@pytest.fixture(scope="session", autouse=True)
def fits_timed_once():
    """Have commands time every fit once: repeats take a second each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSGKIT_ONCE", "1")
        yield


@pytest.fixture(scope="session", autouse=True)
def share_of_the_cores():
    """Compute with this process's share of the threads where tests run in several processes."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    if processes > 1:
        from dsgkit.system.machine import available_threads, set_threads

        share = max(1, available_threads() // processes)
        set_threads(share, share)


def write_toy(folder):
    """Write a small dataset and a config of all four solvers; returns the config's path."""
    rng = np.random.default_rng(0)
    X = rng.random((150, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=150) > 0.5, 1, -1)
    np.savetxt(folder / "toy.csv", np.column_stack([X, y]), delimiter=",", fmt="%.5f")
    (folder / "toy.yaml").write_text(yaml.safe_dump(TOY_CONFIG))
    return folder / "toy.yaml"


def change_toy(toy, name="toy.yaml", protocol=None, **parts):
    """Write the toy's config with other parts, under its own or another name; returns its path."""
    config = yaml.safe_load(toy.read_text()) | parts
    config["protocol"] |= protocol or {}
    path = toy.with_name(name)
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The config that `write_toy` writes, in an environment of its own."""
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DSGKIT_OFFLINE", "1")
    monkeypatch.delenv("DSGKIT_DATA", raising=False)
    return write_toy(tmp_path)


@contextmanager
def cells_in_this_process():
    """Run cells in this process: quicker, and what a test patches is seen."""
    from dsgkit.experiment import cell, progress
    from dsgkit.system.machine import constrain_memory, kept_threads
    from tests.experiment.runs import InProcess

    with pytest.MonkeyPatch.context() as patch, kept_threads():
        patch.setattr("dsgkit.experiment.run.LocalExecutor", lambda *_: InProcess())
        patch.setattr(cell, "_latest", (None, None))
        # nor does a run on a busy machine say that it goes on
        patch.setattr(progress, "SECONDS_BETWEEN_LINES", 1e6)
        yield
    constrain_memory(1, None)


@pytest.fixture
def in_process():
    """Run cells in this process, in one test."""
    with cells_in_this_process():
        yield


@pytest.fixture(scope="session")
def toy_runs(tmp_path_factory):
    """A folder with what two runs of the toy's config, of different seeds, leave."""
    from dsgkit.config.schema import load_experiment
    from dsgkit.experiment.run import Options, run_experiment

    folder = tmp_path_factory.mktemp("toy")
    config = write_toy(folder)
    with cells_in_this_process(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSGKIT_CACHE", str(folder / "cache"))
        for seed, name in enumerate(("results", "other")):
            experiment = load_experiment(config, overrides=[f"seed={seed}"])
            done = run_experiment(experiment, folder / name / "toy", Options(once=True))
            assert (done.computed, done.reused, done.failures) == (24, 0, [])
    return folder


@pytest.fixture
def finished(toy, toy_runs):
    """The results of two runs of the toy's config in its folder; returns the first one's."""
    for name in ("results", "other"):
        shutil.copytree(toy_runs / name, toy.parent / name)
    return toy.parent / "results" / "toy"


@pytest.fixture
def own_modules(tmp_path, monkeypatch):
    """Write a module of a user's own into the working folder, in place of one of that name.

    What is imported from there is forgotten after the test.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it is looked up by size and second

    written = set()

    def forget():
        for name in written:
            sys.modules.pop(name, None)  # first: it may have put anything there
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
                del sys.modules[name]

    def write(name, text):
        forget()
        written.add(name)
        path = tmp_path / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        importlib.invalidate_caches()

    yield write
    forget()
