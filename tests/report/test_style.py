"""The looks of solvers: fixed by kind, and different from each other; the settings are our own."""

import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.colors import same_color

from dsgkit.report.style import FAINT_LOOK, LOOKS, choose_looks, looks_of, places
from tests.report.runs import make_run


def test_the_look_of_a_solver_is_its_own_whatever_else_is_drawn():
    kinds = {"SAMULT": "samult", "FRS3VM": "frs3vm", "Mine": "my:Mine", "Yours": "your:Own"}
    together = choose_looks(kinds)
    for name in ("SAMULT", "FRS3VM"):
        assert choose_looks({name: kinds[name]}) == {name: together[name]}
        assert choose_looks(dict(reversed(kinds.items())))[name] == together[name]
    assert together["SAMULT"] == LOOKS[1]


def test_the_first_solvers_of_ones_own_are_seen_best():
    looks = list(choose_looks({f"Mine {i}": f"my:Mine{i}" for i in range(20)}).values())
    assert looks[:8] == list(LOOKS[:8])
    assert looks[:15].index(FAINT_LOOK) == 14
    # beside the methods of a paper, they take the first looks that these leave
    beside = choose_looks({"Mine": "my:Mine", "QSG-S2AUC": "qsg_s2auc", "SAMULT": "samult"})
    assert beside["Mine"] == LOOKS[2]
    variants = choose_looks({"QSG-S2AUC": "qsg_s2auc", "QSG, a variant": "qsg_s2auc"})
    assert variants["QSG, a variant"] == LOOKS[7]


def test_a_solver_keeps_its_look_where_only_some_are_drawn():
    solvers = {f"s{i}": {"kind": "samult"} for i in range(20)}
    run = make_run(solvers=solvers, **{key: [0.9] for key in solvers})
    looks = looks_of([run])
    assert looks["S0"] == LOOKS[places()["samult"]]
    for key, name in run.names.items():
        assert looks_of([run.of([key])])[name] == looks[name]


def test_no_two_solvers_share_a_look():
    kinds = {f"QSG {i}": "qsg_s2auc" for i in range(9)} | {f"Mine {i}": "my:Mine" for i in range(9)}
    kinds |= {f"{kind}, again": kind for kind in places()}
    assert len({*choose_looks(kinds).values()}) == len(kinds)


def test_every_look_differs_in_colour_marker_line_and_hatch():
    for one, other in combinations(LOOKS, 2):
        assert not same_color(one.color, other.color)
        assert one.marker != other.marker
        assert one.linestyle != other.linestyle
        assert one.hatch != other.hatch


DRAW = """
import hashlib, os, sys
from dsgkit.report.figures import save, wanted_figures
from tests.report.runs import make_run
run = make_run(a={500: [0.5, 0.6], 1000: [0.6, 0.7]}, b={500: [0.4, 0.6], 1000: [0.6, 0.8]})
paths = [p for one in wanted_figures([run]) for p in save(one.draw(), run.folder / one.name)]
print(*(hashlib.md5(path.read_bytes()).hexdigest() for path in sorted(paths)))
"""


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return hashes(tmp_path_factory.mktemp("usual"), "", {})


def hashes(folder, rc, variables):
    """Draw in a process of its own, in a folder with a matplotlibrc."""
    if rc:
        (folder / "matplotlibrc").write_bytes(rc.encode("latin-1"))
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root), **variables}
    command = [sys.executable, "-W", "error", "-c", DRAW]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("rc", "variables"),
    [
        ("text.usetex: True", {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}),
        ("# caf\xe9", {"MPLBACKEND": "no such backend"}),
        ("axes.facecolor: black\nsavefig.bbox: tight\nfont.size: 20\nbackend: TkAgg", {}),
        ("lines.linewidth: 5", {"MATPLOTLIBRC": "."}),
    ],
)
def test_nothing_of_the_environment_changes_figures(tmp_path, usual, rc, variables):
    assert hashes(tmp_path, rc, variables) == usual
