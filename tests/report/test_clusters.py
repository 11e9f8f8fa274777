"""Pictures of clusterings: what is drawn of the arrays that fits stored."""

from dataclasses import replace

import numpy as np
import pytest

from dsgkit.errors import ResultsError
from dsgkit.report.clusters import cluster_looks, pictures_of
from dsgkit.report.figures import wanted_figures
from tests.report.runs import make_run

ROWS = np.array([[0, 0], [0, 1], [3, 0], [3, 1], [9, 9]], np.float32)
SPHERE = {
    "domain": np.array([[-1.0, 1.0], [1.0, 1.0]]),
    "grid_x": np.array([0.0, 20.0]),
    "grid_y": np.array([0.0, 1.0]),
    "equilibria": np.array([[0.0, 0.5], [3.0, 0.5]]),
    "equilibrium_labels": np.array([0, 7]),
}


@pytest.fixture
def pictured(tmp_path):
    """Return a run of solvers by the arrays of their fits; None for a fit without a picture."""

    def make(name="toy", **arrays):
        records = {}
        folder = tmp_path / name / "artefacts"
        folder.mkdir(parents=True)
        for key, stored in arrays.items():
            if stored is not None:
                np.savez(folder / f"{key}.npz", **stored)
                params = {"gamma": 2.0**-14, "C": 1.0}
                artefact = f"artefacts/{key}.npz"
                records[key, 0, 1] = {"artefact": artefact, "params": params}
        values = {key: [0.5, 0.6] for key in arrays}
        run = make_run(name, records=records, outputs=["pictures"], **values)
        return replace(run, folder=tmp_path / name)

    return make


def clustering(labels, **more):
    return {"rows": ROWS, "labels": np.array(labels), **more}


def points(axes):
    """Return the sets of rows that are drawn alike."""
    drawn = [one.get_offsets() for one in axes.collections if len(one.get_offsets())]
    return [{*map(tuple, np.asarray(one).tolist())} for one in drawn]


def rows(*places):
    return {*map(tuple, ROWS[[*places]].tolist())}


def test_a_picture_has_the_rows_of_each_cluster_the_classes_and_the_domain(pictured):
    classes = np.array([1, 1, 1, 2, 2])
    run = pictured(
        a=clustering([4, 4, 2, 2, -1], classes=classes), b=None, c=clustering([0] * 5, **SPHERE)
    )
    (one,) = wanted_figures([run])
    assert "trial 2" in one.caption
    figure = one.draw()
    truth, first, last = figure.axes
    marks = {text.get_text() for text in figure.legends[0].get_texts()}
    assert marks == {"inside, f ≥ 0", "equilibrium", "row in no cluster"}
    titles = [axes.get_title() for axes in (truth, first, last)]
    assert titles == ["True classes", "A", "C"]
    assert points(truth) == [rows(0, 1, 2), rows(3, 4)]
    assert points(first) == [rows(4), rows(0, 1), rows(2, 3)]
    assert rows(0, 1, 2, 3, 4) in points(last)
    assert {*map(tuple, SPHERE["equilibria"].tolist())} in points(last)
    assert "2 clusters, 1 row in none" in first.get_xlabel()
    assert "6.10352e-05" in first.get_xlabel()
    assert first.get_xlim() == last.get_xlim()
    assert last.get_xlim()[1] >= 20  # the domain reaches farther than the rows
    assert first.get_aspect() == 1


def test_equal_clusterings_have_equal_looks_whatever_their_labels():
    one, other = np.array([5, 5, 0, 0, -1]), np.array([1, 1, 3, 3, -1])
    looks, others = cluster_looks(ROWS, one), cluster_looks(ROWS, other)
    assert (looks[5], looks[0]) == (others[1], others[3])
    many = np.arange(32)
    assert len({*cluster_looks(np.random.default_rng(0).random((32, 2)), many).values()}) == 32


def test_arrays_that_are_no_picture_are_an_error_in_one_line(pictured):
    for place, broken in enumerate([{"rows": ROWS}, clustering([0])]):
        with pytest.raises(ResultsError, match=r"a.npz is no picture"):
            pictures_of(pictured(f"broken-{place}", a=broken))


def test_of_several_runs_each_has_a_figure_made_by_name(pictured):
    empty = SPHERE | {"domain": -np.ones((2, 2))}
    runs = [pictured(name, a=clustering([0, 0, 1, 1, 1], **empty)) for name in ("one", "other")]
    assert pictures_of(runs[0])["A"].text.startswith("2 clusters, empty domain")
    (figure,) = wanted_figures(runs[:1])
    marks = figure.draw().legends[0].get_texts()
    assert [text.get_text() for text in marks] == ["equilibrium"]
    assert wanted_figures(runs) == []
    figures = wanted_figures(runs, ["pictures"])
    assert [one.name for one in figures] == ["pictures_one", "pictures_other"]
    with pytest.raises(ResultsError, match="no figure 'pictures'"):
        wanted_figures([make_run(a=[0.5])], ["pictures"])
