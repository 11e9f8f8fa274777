"""The looks of solvers: fixed by kind, and different from each other."""

from itertools import combinations

from matplotlib.colors import same_color

from dsgkit.report.style import FAINT_LOOK, LOOKS, places, solver_styles, styles_of
from dsgkit.report.summary import Summary, summarise
from tests.report.conftest import solver_of


def test_the_look_of_a_solver_is_its_own_whatever_else_is_drawn():
    kinds = {"SAMULT": "samult", "FRS3VM": "frs3vm", "Mine": "my:Mine", "Yours": "your:Own"}
    together = solver_styles(kinds)
    for name in ("SAMULT", "FRS3VM"):
        assert solver_styles({name: kinds[name]}) == {name: together[name]}
        assert solver_styles(dict(reversed(kinds.items())))[name] == together[name]
    assert together["SAMULT"] == LOOKS[1]
    assert places()["qsg_s2auc"] == 0


def test_the_first_solvers_of_ones_own_are_seen_best():
    styles = list(solver_styles({f"Mine {i}": f"my:Mine{i}" for i in range(20)}).values())
    assert styles[:8] == list(LOOKS[:8])
    assert styles[:15].index(FAINT_LOOK) == 14
    # beside the methods of a paper, they take the first looks that these leave
    beside = solver_styles({"Mine": "my:Mine", "QSG-S2AUC": "qsg_s2auc", "SAMULT": "samult"})
    assert beside["Mine"] == LOOKS[2]
    variants = solver_styles({"QSG-S2AUC": "qsg_s2auc", "QSG, a variant": "qsg_s2auc"})
    assert variants["QSG, a variant"] == LOOKS[7]


def test_a_solver_keeps_its_look_where_only_some_are_drawn(fits):
    solvers = {f"s{i}": solver_of("samult", f"Variant {i}") for i in range(20)}
    results = fits({key: {500: [0.9]} for key in solvers}, solvers=solvers)
    (whole,) = summarise([results])
    styles = styles_of([whole])
    assert styles["Variant 0"] == LOOKS[places()["samult"]]
    for key, name in whole.names.items():
        alone = Summary(results, whole.title, {key: name})
        assert styles_of([alone])[name] == styles[name]
        assert styles_of(summarise([results.of([key])]))[name] == styles[name]


def test_no_two_solvers_share_a_look():
    kinds = {f"QSG {i}": "qsg_s2auc" for i in range(9)} | {f"Mine {i}": "my:Mine" for i in range(9)}
    owners = {place: kind for kind, place in reversed(places().items())}
    kinds |= {kind.upper(): kind for place, kind in owners.items() if place}
    styles = solver_styles(kinds)
    assert len(set(styles.values())) == len(kinds)
    assert styles["QSG 0"] == LOOKS[0]
    assert all(styles[kind.upper()] == LOOKS[place] for place, kind in owners.items() if place)


def test_kinds_of_two_papers_share_a_look_unless_they_are_drawn_together():
    assert places()["tsgsu"] == places()["qsg_s2auc"]
    assert solver_styles({"TSGSU": "tsgsu"})["TSGSU"] == LOOKS[0]
    together = solver_styles({"TSGSU": "tsgsu", "QSG": "qsg_s2auc"})
    assert together["TSGSU"] == LOOKS[0] != together["QSG"]


def test_every_look_differs_in_colour_marker_line_and_hatch():
    for one, other in combinations(LOOKS, 2):
        assert not same_color(one.color, other.color)
        assert one.marker != other.marker
        assert one.linestyle != other.linestyle
        assert one.hatch != other.hatch
