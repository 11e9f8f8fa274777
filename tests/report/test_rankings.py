"""Which rankings there are of several results, against ranks counted by hand."""

import pytest

from dsgkit.errors import ResultsError
from dsgkit.report import draw_figures
from dsgkit.report.html import page_text
from dsgkit.report.outputs import all_figures, wanted_figures
from dsgkit.report.rankings import measured_rankings, published_rankings
from dsgkit.report.reproductions import reproductions
from dsgkit.report.summary import summarise
from dsgkit.tasks.measures import Published, PublishedFigure
from tests.report.conftest import AUC, RANKING, solver_of

NAMES = ("one", "two", "three")
ABC = {"a": 0.9, "b": 0.8, "c": 0.7}
AB = {"a": 0.9, "b": 0.8}


@pytest.fixture
def results(fits):
    """Return a function that makes results with published figures, each a dict by solver."""

    def make_results(dataset, auc, published=None, measure="auc", flag="", name=None, **parts):
        seconds, sizes = parts.get("seconds", {}), parts.get("sizes", {})
        figures = tuple(
            PublishedFigure(solver=solver, measure=measure, value=value, flag=flag)
            for solver, value in (published or {}).items()
        )
        told = Published(source="Somebody (2001)", figures=figures) if figures else None
        values = {
            key: {sizes.get(key, 500): [{"auc": value, "times": {"fit": seconds.get(key, 1.0)}}]}
            for key, value in auc.items()
        }
        return fits(
            values,
            dataset=dataset,
            name=name or dataset,
            task=RANKING.model_copy(update={"published": told}),
            solvers={key: solver_of(f"mine:{key}", key.upper()) for key in auc},
            outputs=("auc_table", "time_table", "ranks"),
        )

    return make_results


def published_of(made):
    return published_rankings([each for one in summarise(made) for each in reproductions(one)])


def test_published_and_measured_rank_over_the_same_datasets(results):
    made = [
        results("one", {"a": 0.701, "b": 0.699, "c": 0.9}, ABC),
        results("two", ABC, ABC),
        results("three", ABC | {"a": float("nan")}, ABC),
        results("one", ABC, ABC, name="again"),
    ]
    both = published_of(made)[AUC]
    assert both.published.n_datasets == both.measured.n_datasets == 2
    assert both.published.ranks == {"A": 1, "B": 2, "C": 3}
    # to the two digits of the published figures a and b are equal on the first dataset
    assert both.measured.ranks == {"A": (2.5 + 1) / 2, "B": (2.5 + 2) / 2, "C": (1 + 3) / 2}
    assert (both.published.title, both.measured.title) == ("AUC, published", "AUC, measured")


def test_seconds_are_ranked_to_all_digits_and_of_all_rows_only(results):
    published = {"published": {"a": 30.0, "b": 20.0}, "measure": "fit_seconds"}
    made = [results(n, AB, **published, seconds={"a": 0.002, "b": 0.001}) for n in NAMES[:2]]
    made.append(results("three", AB, **published, sizes={"a": 500, "b": 1000}))
    (both,) = published_of(made).values()
    assert both.measured.ranks == {"B": 1, "A": 2}
    assert both.measured.n_datasets == 2


def test_a_solver_that_never_finished_hinders_no_ranking(results):
    auc = ABC | {"c": float("nan")}
    shown = summarise([results(name, auc, ABC, flag="impossible") for name in NAMES])
    by_name = {one.name: one for one in all_figures(shown)}
    assert "count also where their table has a remark" in by_name["ranks_published"].caption
    assert len(by_name["ranks_published"].draw().axes) == 2
    (measured,) = measured_rankings(shown)
    assert list(measured.ranks) == ["A", "B"]


def test_solvers_that_all_results_have_are_ranked_by_what_tables_show(results):
    one = results("one", {"a": 0.9004, "b": 0.9, "c": 0.1})
    (found,) = measured_rankings(summarise([one, results("two", AB)]))
    assert found.title == "AUC, measured"
    assert found.ranks == {"A": (1.5 + 1) / 2, "B": (1.5 + 2) / 2}
    assert measured_rankings(summarise([one])) == []
    assert measured_rankings(summarise([one, results("one", {"a": 1.0}, name="x")])) == []


def test_ranks_are_drawn_of_several_results_and_silently_not_of_one(results, tmp_path):
    made = [results(name, AB, AB) for name in NAMES[:2]]
    names = ["ranks_published", "ranks_measured"]
    assert {path.stem for path in draw_figures(made, tmp_path, ["ranks"])} == set(names)
    wanted = wanted_figures(summarise(made))
    assert [one.name for one in wanted] == names
    assert "as published by Somebody (2001) (left)" in page_text(made, tmp_path)
    caption = wanted[1].caption
    assert "cannot tell any two apart: the critical" in caption and "Left out" not in caption
    assert caption.endswith("Setting: 200 labelled rows.")
    assert wanted_figures(summarise(made[:1])) == []
    with pytest.raises(ResultsError, match="at least two results folders"):
        draw_figures(made[:1], tmp_path, ["ranks"])


def test_solvers_without_a_rank_are_named(results):
    made = [results(f"d{number}", ABC, AB) for number in range(6)]
    published, measured = (one.caption for one in wanted_figures(summarise(made)))
    assert "Left out where a dataset lacks their value: C." in published
    assert "Left out" not in measured
    # Nemenyi's difference of two methods over six datasets is 0.80, below 2 - 1
    assert "cannot tell any two apart" not in published + measured
