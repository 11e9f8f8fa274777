"""An installed package works without the checkout."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def dsg(tmp_path_factory):
    """Run a command of the package that is installed, from its wheel, into an environment."""
    pytest.importorskip("hatchling")
    pytest.importorskip("pip")
    folder = tmp_path_factory.mktemp("installed")
    python = folder / "env" / "bin" / "python"
    wheels, work = folder / "wheels", folder / "work"
    work.mkdir()

    def call(*command, cwd=work):
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout

    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    call(*build, "--directory", wheels, cwd=ROOT)
    call(sys.executable, "-m", "venv", "--without-pip", folder / "env")
    # its dependencies are those that the tests run with
    (packages,) = (folder / "env").glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps"]
    call(*pip, *wheels.iterdir())
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"DSGKIT_CACHE": str(folder / "cache")}

    def run(*arguments):
        command = [python.with_name("dsg"), *arguments]
        return subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)

    run.work = work
    return run


def test_the_shipped_configs_are_in_it(dsg):
    listed = dsg("list", "configs").stdout
    names = re.findall(r"^ *(\w+)  ", listed, re.MULTILINE)
    assert sorted(names) == sorted(path.stem for path in ROOT.glob("configs/*.yaml"))


def test_a_copied_config_runs_anywhere(dsg):
    assert dsg("init", "quickstart", "mine.yaml").returncode == 0
    assert "extends: base/s2auc.yaml" in (dsg.work / "mine.yaml").read_text()
    few = ("protocol.trials=1", "sweep.unlabeled=[200, 600]", "outputs=[auc_curve]")
    changes = [word for change in few for word in ("--set", change)]
    done = dsg("run", "mine.yaml", *changes, "--solvers", "supervised", "--once", "--name", "mine")
    assert done.returncode == 0, done.stderr
    assert list((dsg.work / "results" / "mine" / "figures").glob("*.pdf"))


def test_claims_are_judged_by_published_data_alone(dsg):
    done = dsg("figure")
    assert done.returncode == 0, done.stderr
    assert "s2auc/1" in done.stdout
