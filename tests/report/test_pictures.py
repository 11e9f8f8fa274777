"""Pictures of clusterings: what is drawn of the arrays that fits have kept."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import same_color, to_hex

from dsgkit.errors import ResultsError
from dsgkit.report import clusterings, draw_figures
from dsgkit.report.html.page import page_text
from dsgkit.report.outputs import all_figures
from dsgkit.report.pictures import COLORS, INSIDE, Place, cluster_looks
from dsgkit.report.summary import summarise
from tests.experiment.runs import keep_artefact
from tests.report.conftest import REGRESSION, experiment_for, records_of, solver_of


def blobs(n_clusters, n_rows=20, seed=0):
    """Rows around the points of a lattice, and which."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_clusters), n_rows)
    centres = np.column_stack([labels % 6, labels // 6]) * 4.0
    return (centres + rng.normal(scale=0.3, size=centres.shape)).astype(np.float32), labels


def arrays_of(n_clusters=3, *, domain=None, outside=0):
    rows, labels = blobs(n_clusters)
    labels[:outside] = -1
    made = {"rows": rows, "labels": labels}
    if domain is not None:
        x, y = np.linspace(-1, 9, 30), np.linspace(-2, 2, 20)
        made |= {"grid_x": x, "grid_y": y, "domain": domain(*np.meshgrid(x, y))}
        made |= {"equilibria": np.array([[0, 0], [4, 0]]), "equilibrium_labels": np.array([0, 1])}
    return made


def disc(x, y):
    return 1 - x**2 - y**2


@pytest.fixture
def results(make, tmp_path):
    """Return a function that makes results from arrays by solver and trial."""

    def make_results(arrays, name="rings", failed=()):
        solvers = {key: solver_of(f"mine:{key}", key.upper()) for key in [*arrays, *failed]}
        values = {
            key: [fit_of(trials[t]) if t in trials else None for t in range(2)]
            for key, trials in arrays.items()
        } | {key: ["time_limit"] for key in failed}
        parts = {"outputs": ("pictures",), "name": name, "dataset": name}
        experiment = experiment_for(values, REGRESSION, solvers, **parts)
        folder = tmp_path / "results" / name
        folder.mkdir(parents=True)
        records = [keep_artefact(folder, record) for record in records_of(experiment, values)]
        return make(experiment, records, REGRESSION)

    return make_results


def fit_of(arrays):
    return {"rmse": 1.0, "params": {"gamma": 0.5, "C": 8.0}, "artefact": arrays}


def picture_of(*results):
    (found,) = (one for one in all_figures(summarise(results)) if one.name == "pictures")
    return found


def points_of(axes):
    return [c for c in axes.collections if isinstance(c, PathCollection)]


def shaded(axes):
    """The corners of the regions in the domain's colour."""
    found = [c for c in axes.collections if not isinstance(c, PathCollection)]
    filled = [c for c in found if len(c.get_facecolor()) and to_hex(c.get_facecolor()[0])]
    filled = [c for c in filled if same_color(c.get_facecolor()[0], INSIDE)]
    return [path.vertices for c in filled for path in c.get_paths() if len(path.vertices)]


def test_a_panel_shows_the_rows_the_domain_and_the_equilibria(results):
    arrays = arrays_of(domain=disc, outside=2)
    drawing = picture_of(results({"a": {0: arrays}, "b": {0: arrays_of()}}))
    a, b = drawing.draw().axes
    assert (a.get_title(), b.get_title()) == ("A", "B")
    assert a.get_xlabel() == "3 clusters, 2 rows in none\ngamma 0.5, C 8"
    outside, *clusters, _, equilibria = points_of(a)
    np.testing.assert_allclose(outside.get_offsets(), arrays["rows"][:2])
    assert sorted(len(c.get_offsets()) for c in clusters) == [18, 20, 20]
    np.testing.assert_allclose(equilibria.get_offsets(), arrays["equilibria"])
    colors = {tuple(c.get_offsets()[0]): c.get_facecolor()[0] for c in clusters}
    first = next(v for k, v in colors.items() if k == tuple(arrays["rows"][2]))
    assert same_color(equilibria.get_facecolor()[0], first)
    (region,) = shaded(a)
    # between two points of the grid, 1 - r^2 is above its chord by little
    radii = np.hypot(*region.T)
    assert radii.max() < 1.01 and np.median(radii) > 0.95
    assert len(points_of(b)) == 3 and not shaded(b)
    for part in ("trial 1", "shaded", "diamond", "grey cross"):
        assert part in drawing.caption
    assert "another shape" not in drawing.caption


def test_the_first_panel_has_the_true_classes_where_they_are_known(results):
    known = {**arrays_of(outside=2), "classes": blobs(3)[1] % 2}
    drawing = picture_of(results({"a": {0: known}, "b": {0: known}}))
    truth, a, b = drawing.draw().axes
    assert [panel.get_title() for panel in (truth, a, b)] == ["True classes", "A", "B"]
    assert truth.get_xlabel() == "2 classes"
    assert sorted(len(c.get_offsets()) for c in points_of(truth)) == [20, 40]
    assert 'The panel "True classes" has' in drawing.caption
    unknown = results({"a": {0: arrays_of()}}, name="moons")
    assert [panel.get_title() for panel in picture_of(unknown).draw().axes] == ["A"]
    both = results({"a": {0: known}}, name="blobs")
    *_, empty, _ = picture_of(both, unknown).draw().axes
    assert [text.get_text() for text in empty.texts] == ["not known"]
    shorter = results({"a": {0: {**known, "classes": known["classes"][1:]}}}, name="shorter")
    with pytest.raises(ResultsError, match="classes have the shape"):
        picture_of(shorter).draw()


@pytest.mark.parametrize(
    ("level", "share", "regions", "empty"),
    [(1.0, None, 1, False), (-1.0, None, 0, True), (-1.0, 0.0, 0, True), (-1.0, 0.1, 0, False)],
)
def test_an_empty_domain_is_told_unless_rows_between_the_grid_are_inside(
    results, level, share, regions, empty
):
    arrays = arrays_of(domain=lambda x, y: np.full_like(x, level))
    arrays |= {} if share is None else {"inside": np.float64(share)}
    (panel,) = picture_of(results({"a": {0: arrays}})).draw().axes
    assert len(shaded(panel)) == regions
    assert ("3 clusters, empty domain" in panel.get_xlabel()) == empty


def test_datasets_are_rows_of_panels_and_gaps_say_why(results):
    one = results({"a": {0: arrays_of()}, "b": {0: arrays_of(1)}})
    two = results({"a": {0: arrays_of(2)}}, name="moons", failed=("b",))
    axes = picture_of(one, two).draw().axes
    assert [panel.get_title() for panel in axes] == ["A", "B", "", ""]
    assert [panel.get_ylabel() for panel in axes] == ["rings", "", "moons", ""]
    assert axes[1].get_xlabel().startswith("1 cluster\n")
    assert [text.get_text() for text in axes[3].texts] == ["time limit"]


def test_many_solvers_take_several_rows_of_panels(results):
    solvers = "abcdefg"
    figure = picture_of(results({key: {0: arrays_of()} for key in solvers})).draw()
    assert [panel.get_title() for panel in figure.axes] == [key.upper() for key in solvers]
    figure.draw_without_rendering()
    boxes = [panel.get_position() for panel in figure.axes]
    assert len({round(box.y0, 3) for box in boxes}) == 2
    assert max(box.x1 for box in boxes) < 1
    assert figure.get_figwidth() <= 6.9


def test_many_datasets_are_a_figure_each_which_the_page_has_in_their_sections(
    results, tmp_path, monkeypatch
):
    made = [results({"a": {0: arrays_of()}}, name=name) for name in ("rings", "moons")]
    assert [one.name for one in all_figures(summarise(made))][-1] == "pictures"
    monkeypatch.setattr(clusterings, "MAX_PANEL_LINES", 1)
    paths = draw_figures(made, tmp_path, ["pictures"])
    assert {path.stem for path in paths} == {"pictures_rings", "pictures_moons"}
    page = page_text(made, tmp_path)
    assert page.count("<figcaption>Clusters of rows in trial 1.") == 2


def test_the_first_trial_with_arrays_is_shown(results):
    drawing = picture_of(results({"a": {1: arrays_of(2), 0: {"coefficients": np.ones(3)}}}))
    assert drawing.draw().axes[0].get_xlabel().startswith("2 clusters")
    assert "trial 2" in drawing.caption


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("rows", np.array(["x"] * 60)),
        ("rows", np.zeros((60, 3))),
        ("rows", np.full((60, 2), np.nan)),
        ("rows", np.full((60, 2), 1e300)),
        ("rows", np.zeros((0, 2))),
        ("labels", np.zeros(59, dtype=int)),
        ("labels", np.zeros(60)),
        ("domain", np.zeros((30, 20))),
        ("domain", np.float64(1.0)),
        ("grid_x", np.array(["x"] * 30)),
        ("equilibria", np.zeros((3, 2))),
        ("equilibrium_labels", np.array(["x", "y"])),
        ("inside", np.array("x")),
    ],
)
def test_arrays_of_another_form_are_one_line(results, name, array):
    drawn = arrays_of(domain=disc) | {name: array}
    with pytest.raises(
        ResultsError, match=rf"artefacts/\S+\.npz: {name[:4]}.*; remove it"
    ) as error:
        picture_of(results({"a": {0: drawn}})).draw()
    assert "\n" not in str(error.value)


def test_parameters_that_are_no_formulas_are_drawn_as_they_stand(results):
    found = results({"a": {0: arrays_of()}})
    next(one for one in found.records)["params"] = {"$\\frac{$": "$\\x$", "b": "a\x1b[31m"}
    (panel,) = picture_of(found).draw().axes
    panel.figure.draw_without_rendering()
    text = panel.get_xlabel()
    assert r"\$\frac{\$" in text.replace("\n", "")
    assert "\x1b" not in text


def test_other_arrays_or_none_make_no_picture(results, regression, tmp_path):
    other = results({"a": {0: {"coefficients": np.ones(3)}}})
    assert not picture_of(other).has_values
    assert draw_figures([other], tmp_path) == []
    none = regression({"ridge": [1.0]})
    assert "pictures" not in [one.name for one in all_figures(summarise([none]))]
    with pytest.raises(ResultsError, match="no figure 'pictures'"):
        draw_figures([none], tmp_path, ["pictures"])


def test_files_and_the_page_have_it(results, tmp_path):
    made = results({"a": {0: arrays_of(domain=disc)}})
    pdf, _ = draw_figures([made], tmp_path / "one")
    again, _ = draw_figures([made], tmp_path / "two")
    assert pdf.read_bytes() == again.read_bytes()
    page = page_text([made], tmp_path)
    assert "Clusters of rows in trial 1." in page and "--only pictures" in page


def test_up_to_31_clusters_look_different_and_neighbours_have_other_colours():
    rows, labels = blobs(31)
    place = Place.of([{"rows": rows, "labels": labels}])
    looks = cluster_looks(rows, labels, place)
    assert len(set(looks.values())) == 31
    centres = np.array([rows[labels == k].mean(axis=0) for k in range(31)])
    distances = np.linalg.norm(centres[:, None] - centres, axis=2)
    beside = np.argwhere((distances > 0) & (distances < 5))
    assert all(looks[i][0] != looks[j][0] for i, j in beside)


def test_few_clusters_have_a_colour_each_whatever_their_labels():
    rows, labels = blobs(8)
    place = Place.of([{"rows": rows, "labels": labels}])
    looks = cluster_looks(rows, labels, place)
    assert {color for color, _ in looks.values()} == set(COLORS)
    others = np.random.default_rng(1).permutation(8) * 3
    renamed = cluster_looks(rows, others[labels], place)
    assert {k: renamed[others[k]] for k in range(8)} == looks


@pytest.mark.parametrize(("height", "aspect"), [(0.5, 0.5), (2.0, 1.0), (0.1, 1.0)])
def test_panels_are_true_to_scale_unless_one_side_is_far_longer(height, aspect):
    rows = np.array([[0, 0], [1, height]])
    place = Place.of([{"rows": rows, "labels": np.zeros(2, int)}])
    assert place.aspect == pytest.approx(aspect)
    assert place.x[0] < 0 and place.x[1] > 1 and place.y[0] < 0 and place.y[1] > height
    equal = height != 0.1
    assert (place.scale[0] == pytest.approx(place.scale[1])) == equal
