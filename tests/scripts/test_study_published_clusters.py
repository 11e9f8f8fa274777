"""The study of published clusterings counts what is near, and fits only what its file lacks."""

from __future__ import annotations

import pandas as pd
import pytest

from dsgkit.published import bsgd_svc
from tests.scripts.conftest import invoke, numbers_of


@pytest.fixture
def study(script):
    """The script's command and, of what it calls, a stand-in that fits two points of a method."""
    main = script("study_published_clusters")["main"]
    scope, calls = main.callback.__globals__, []

    def fits(dataset, scale, unit, seeds):
        calls.append((dataset, scale, unit))
        values = {n: bsgd_svc.value(dataset, "BSGD-PNN", n) for n in ("purity", "rand", "nmi")}
        near = {**values, "purity": values["purity"] - 0.04, "davies_bouldin": 2.0, "clusters": 3}
        # the higher NMI, and a lower purity than was published
        far = {**near, "nmi": 0.99, "purity": 0.5, "davies_bouldin": 1.0}
        for seed in range(seeds):
            for point, found in (("near", near), ("far", far)):
                setting = {"dataset": dataset, "method": "BSGD-PNN", "scale": scale}
                yield setting | {"C of the": unit, "point": point, "seed": seed, **found}

    scope["fits"] = fits
    return main, calls


def test_counts_by_rule_and_the_nearest_point(study, tmp_path):
    main, _ = study
    path, file = tmp_path / "found.csv", tmp_path / "found.json"
    output = invoke(main, path, "jain", "--seeds", 2, "--json", file).output
    for row in (
        "| nearest to the published triple | raw | mean | 1 of 1 | 1 of 1 | 1 of 1 | 1 of 1 |",
        "| highest NMI | standard | sum | 0 of 1 | 1 of 1 | 0 of 1 | 0 of 1 |",
        "| jain | BSGD-PNN | 1.00 / 0.98 / 0.92 | 0.96 / 0.98 / 0.92 | 0.04 | 3.0 |",
    ):
        assert row in output
    assert len(pd.read_csv(path)) == 2 * 2 * 2 * 2
    numbers = numbers_of(file)
    assert [row["off by"] for row in numbers["nearest"]] == ["0.04"]
    assert {row["all three"] for row in numbers["counts"]} == {"0 of 1", "1 of 1"}


def test_what_the_file_holds_is_not_fitted_again(study, tmp_path):
    main, calls = study
    for seeds in (2, 1, 3):
        invoke(main, tmp_path / "found.csv", "iris", "--unit", "mean", "--seeds", seeds)
    assert calls == [("iris", "raw", "mean"), ("iris", "standard", "mean")] * 2
    invoke(main, tmp_path / "new.csv", code=1)
