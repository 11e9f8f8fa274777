"""Mean ranks and critical differences, against published tables and counting by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dsgkit.errors import ResultsError
from dsgkit.published import bsgd_svc
from dsgkit.report.rank_figure import caption, rank_figure
from dsgkit.report.ranks import Ranking, critical_difference, ranking


@pytest.mark.parametrize(
    ("n_methods", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (6, 2.850), (10, 3.164)]
)
def test_critical_differences_are_demsars(n_methods, q):
    """His Table 5 (a)."""
    expected = q * np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    assert critical_difference(n_methods, 14) == pytest.approx(expected, abs=1e-3)


def test_ranks_are_means_over_datasets_that_have_all_methods():
    values = pd.DataFrame(
        {"a": [0.9, 0.8, 0.7, 1.0], "b": [0.5, 0.8, 0.9, 1.0], "c": [0.7, 0.1, 0.8, np.nan]}
    )
    found = ranking("NMI", values, "higher")
    assert found.n_datasets == 3
    # a: 1, 1.5, 3; b: 3, 1.5, 1; c: 2, 3, 2
    assert found.ranks == pytest.approx({"a": 11 / 6, "b": 11 / 6, "c": 7 / 3})
    assert list(found.ranks) == ["a", "b", "c"]
    whole = values.iloc[:3]
    assert found.p == pytest.approx(stats.friedmanchisquare(*whole.to_numpy().T).pvalue)
    lower = ranking("seconds", values, "lower")
    assert lower.ranks == pytest.approx({name: 4 - rank for name, rank in found.ranks.items()})


def test_what_cannot_be_ranked_or_tested_says_so():
    equal = pd.DataFrame({"a": [1.0, 1.0], "b": [1.0, 1.0], "c": [1.0, 1.0]})
    assert ranking("x", equal, "lower").p is None
    assert ranking("x", equal[["a", "b"]], "lower").p is None
    with pytest.raises(ResultsError, match="there are 1 methods"):
        ranking("x", equal[["a"]], "lower")
    with pytest.raises(ResultsError, match="0 such datasets"):
        ranking("x", equal * np.nan, "lower")


def ranking_of(*ranks, n_datasets=30):
    names = (f"m{place}" for place in range(len(ranks)))
    return Ranking("x", dict(zip(names, ranks, strict=True)), n_datasets, None)


def test_groups_are_within_a_critical_difference_and_none_is_part_of_another():
    assert critical_difference(4, 30) == pytest.approx(0.856, abs=1e-3)
    assert ranking_of(1.0, 1.5, 2.2, 4.0).groups == [["m0", "m1"], ["m1", "m2"]]
    assert ranking_of(2.4, 2.5, 2.5, 2.6).groups == [["m0", "m1", "m2", "m3"]]
    assert ranking_of(1.0, 2.0, 3.0, 4.0).groups == []


@pytest.fixture(scope="module")
def published():
    names = list(bsgd_svc.datasets())
    return [
        ranking(
            measure,
            pd.DataFrame(
                {m: [bsgd_svc.value(d, m, measure) for d in names] for m in bsgd_svc.METHODS}
            ),
            bsgd_svc.MEASURES[measure],
        )
        for measure in ("nmi", "training_seconds")
    ]


def test_a_diagram_has_every_rank_bar_and_name(published):
    figure = rank_figure(published, columns=2)
    for axes, one in zip(figure.axes, published, strict=True):
        assert axes.get_title() == f"{one.title} (15 datasets)"
        marks = [line.get_xdata()[0] for line in axes.get_lines() if line.get_marker() != "None"]
        assert marks == pytest.approx(list(one.ranks.values()))
        bars = [line.get_xdata() for line in axes.get_lines() if line.get_linewidth() > 2]
        ends = [(one.ranks[group[0]], one.ranks[group[-1]]) for group in one.groups]
        np.testing.assert_allclose(bars, ends, atol=0.05)
        texts = [text.get_text() for text in axes.texts]
        assert {f"{name} {rank:.2f}" for name, rank in one.ranks.items()} <= set(texts)
        assert f"CD = {one.critical_difference:.2f}" in texts
    assert "15 datasets" in caption(published)


@pytest.mark.parametrize("n_methods", [2, 6, 11])
@pytest.mark.parametrize("columns", [1, 2])
def test_texts_are_inside_and_clear_of_each_other(n_methods, columns):
    rng = np.random.default_rng(n_methods)
    values = pd.DataFrame(
        rng.normal(size=(8, n_methods)), columns=[f"BSGD-LMOC-{k}" for k in range(n_methods)]
    )
    figure = rank_figure([ranking("Purity", values, "higher")] * 3, columns=columns)
    figure.draw_without_rendering()
    for axes in figure.axes:
        boxes = [text.get_window_extent() for text in axes.texts]
        assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
