"""The looks of solvers: fixed by kind, and different from each other; the settings are our own."""

import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

from matplotlib.colors import same_color

from dsgkit.report.style import LOOKS, looks_of
from tests.report.runs import make_run


def test_the_look_of_a_solver_is_its_own_whatever_else_is_drawn():
    kinds = {"mine": "my:Mine", "a": "samult", "yours": "your:Own", "b": "rff_s2auc"}
    solvers = {key: {"kind": kind} for key, kind in kinds.items()}
    solvers |= {f"s{i}": {"kind": "samult"} for i in range(6)}
    solvers["c"] = {"kind": "pnu_auc", "label": "PNU-AUC (prior estimated)"}
    run = make_run(solvers=solvers, **{key: [0.9] for key in solvers})
    together = looks_of([run])
    first = [together[name] for name in ("MINE", "A", "YOURS", "B", run.names["c"])]
    assert first == [LOOKS[0], LOOKS[1], LOOKS[2], LOOKS[3], LOOKS[9]]
    assert len({*together.values()}) == len(solvers)
    for key, name in run.names.items():
        assert looks_of([run.of([key])])[name] == together[name]


def test_every_look_differs_in_colour_marker_and_line():
    for one, other in combinations(LOOKS, 2):
        assert not same_color(one.color, other.color)
        assert one.marker != other.marker
        assert one.linestyle != other.linestyle


DRAW = """
import hashlib
from dsgkit.report.figures import save, wanted_figures
from tests.report.runs import make_run
odd = {"a": {"label": "$x^$, \\N{GREEK SMALL LETTER LAMDA} & <b>"}}
values = {500: [0.5, 0.6], 1000: [0.6, 0.7]}
run = make_run(a=values, b=values, solvers=odd)
for one in wanted_figures([run]):
    for path in save(one.draw(), run.folder / one.name, ["pdf", "png", "svg"]):
        print(path, hashlib.md5(path.read_bytes()).hexdigest())
"""
ENVIRONMENTS = [
    ("", {}),
    ("text.usetex: True", {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}),
    ("# caf\xe9", {"MPLBACKEND": "no such backend"}),
    ("axes.facecolor: black\nsavefig.bbox: tight\nfont.size: 20\nbackend: TkAgg", {}),
    ("lines.linewidth: 5", {"MATPLOTLIBRC": "."}),
]


def test_figures_have_equal_files_in_every_environment(tmp_path):
    printed = set()
    for settings, variables in ENVIRONMENTS:
        (tmp_path / "matplotlibrc").write_bytes(settings.encode("latin-1"))
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **variables}
        command = [sys.executable, "-W", "error", "-c", DRAW]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        printed.add(done.stdout)
    assert len(printed) == 1 and printed != {""}
