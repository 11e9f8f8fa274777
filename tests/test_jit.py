"""The cache of compiled code, with packages of a few lines and processes of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import dsgkit
from dsgkit.system import jit

PACKAGE = Path(dsgkit.__file__).parent

HELPER = """
from pkg.system.jit import fast
from pkg import (
    numbers,
)

@fast
def helper(x):
    return numbers.FACTOR * x
"""
KERNEL = """
from pkg.system.jit import fast
from pkg.helper import helper

@fast
def kernel(x):
    return helper(x) + 1
"""


@pytest.fixture
def package(tmp_path):
    """A package whose kernel calls a function, and that uses a constant, of other files."""
    folder = tmp_path / "pkg"
    folder.mkdir()
    (folder / "system").mkdir()
    (folder / "system" / "__init__.py").touch()
    shutil.copy(jit.__file__, folder / "system" / "jit.py")
    (folder / "__init__.py").touch()
    (folder / "numbers.py").write_text("FACTOR = 2\n")
    (folder / "helper.py").write_text(HELPER)
    (folder / "kernel.py").write_text(KERNEL)
    return folder


def start(package, code, **options):
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(package.parent / "cache"),
        "NUMBA_DEBUG_CACHE": "1",
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",  # an edit within a second would not be noticed
    }
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=package.parent,
        **options,
    )


def run(package, code="from pkg.kernel import kernel; print('result', kernel(10))"):
    """Return the result that is printed and whether anything was compiled."""
    process = start(package, code)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    (line,) = (line for line in output.splitlines() if line.startswith("result"))
    return line.removeprefix("result "), "data saved" in output


@pytest.mark.slow
def test_an_edit_in_another_file_is_noticed_and_otherwise_nothing_compiled_twice(package):
    """Nor are files used that are torn."""
    assert run(package) == ("21", True)
    for file, old, new, expected in (
        ("helper", "FACTOR * x", "FACTOR * x * 10", "201"),
        ("numbers", "2", "3", "31"),
    ):
        path = package / f"{file}.py"
        before = path.read_text()
        path.write_text(before.replace(old, new))
        assert run(package) == (expected, True)
        path.write_text(before)
    assert run(package) == ("21", False)
    for path in (package.parent / "cache").rglob("*.nb?"):
        path.write_bytes(b"" if path.name.startswith("helper") else b"torn")
    assert run(package) == ("21", True)
    assert run(package) == ("21", False)


@pytest.mark.slow
def test_a_copy_of_the_package_compiles_nothing_again(package):
    assert run(package) == ("21", True)
    copy = package.parent / "elsewhere" / "pkg"
    shutil.copytree(package, copy)
    (copy.parent / "cache").symlink_to(package.parent / "cache")
    shutil.rmtree(package)
    (copy / "kernel.py").touch()
    assert run(copy) == ("21", False)


SLOW_WRITES = """
import random, time
from numba.core.caching import IndexDataCacheFile
def slow(write):
    def wait_and_write(*arguments):
        time.sleep(0.4 * random.random())
        write(*arguments)
    return wait_and_write
IndexDataCacheFile._save_index = slow(IndexDataCacheFile._save_index)
IndexDataCacheFile._save_data = slow(IndexDataCacheFile._save_data)
"""


@pytest.mark.slow
def test_processes_that_compile_at_once_leave_a_sound_cache(package):
    """Each compiles other argument types first; numba numbers the files of a function by them."""
    values = ["10", "10.0", "np.float32(10)", "np.int8(10)"]
    code = SLOW_WRITES + "import sys, numpy as np; from pkg.kernel import kernel\n"
    code += "sys.stdin.readline()\n"
    code += "for x in ({}): kernel(x)\n"
    orders = [values[k:] + values[:k] for k in range(len(values))]
    processes = [
        start(package, code.format(", ".join(order)), stdin=subprocess.PIPE) for order in orders
    ]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    check = "import numpy as np; from pkg.kernel import kernel\n"
    check += f"print('result', [bool(kernel(x) == 21) for x in ({', '.join(values)})])"
    assert run(package, check) == (str([True] * len(values)), False)


@pytest.mark.slow
def test_of_processes_that_begin_at_once_one_compiles(package):
    code = "import sys; from pkg.kernel import kernel; sys.stdin.readline(); kernel(10)"
    processes = [start(package, code, stdin=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    output = "".join(process.communicate(timeout=120)[0] for process in processes)
    assert output.count("data saved") == 2, output  # kernel and helper
    assert output.count("data loaded") == 2, output  # by the two others, with the helper in it


def test_a_folder_that_cannot_be_written_costs_time_only(package):
    (package.parent / "cache").write_text("a file")
    assert run(package) == ("21", False)


@pytest.mark.slow
def test_a_second_run_of_an_experiment_compiles_nothing(toy):
    """The first uses what this machine has compiled before, if anything."""
    config = yaml.safe_load(toy.read_text())
    config["protocol"] |= {"kind": "semi_supervised_svm", "trials": 1}
    config["solvers"] = {"bgs3vm": {"grid": {"C": [1.0, 10.0]}}}
    toy.write_text(yaml.safe_dump(config | {"outputs": [], "sweep": {"unlabeled": ["all"]}}))
    program = (
        "from pathlib import Path; from tests.experiment.runs import dsg_here\n"
        "code, out, err = dsg_here(Path.cwd(), 'run', 'toy.yaml', '--fresh')\n"
        "print(out, err); raise SystemExit(code)"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=toy.parent,
            env={**os.environ, "NUMBA_DEBUG_CACHE": "1", "PYTHONPATH": str(PACKAGE.parent)},
            capture_output=True,
            text=True,
            check=True,
            timeout=250,
        ).stdout
        for _ in range(2)
    ]
    assert "data loaded" in said[1]
    assert "data saved" not in said[1]


def test_code_depends_on_what_its_module_imports_and_on_nothing_else():
    names = {str(path.relative_to(PACKAGE)) for path in jit.sources_of("dsgkit.engine.training")}
    assert {"engine/training.py", "features/tiles.py", "random/stream.py", "system/jit.py"} <= names
    assert not [name for name in names if name.startswith(("solvers", "config", "report"))]
