"""Published figures beside measured ones."""

import pandas as pd
import pytest

from dsgkit.report import text_table, write_tables
from dsgkit.tasks.base import Published, PublishedFigure
from dsgkit.text.errors import ResultsError
from tests.report.conftest import RANKING, experiment_of, record

KINDS = ("qsg_s2auc", "samult")


def figures(*values, **more):
    told = {"measure": "auc", "tolerance": 0.05} | more
    return [
        PublishedFigure(solver=solver, value=value, **told)
        for solver, value in zip(KINDS, values, strict=True)
    ]


def results_of(make, dataset, published, measured):
    task = RANKING.model_copy(
        update={"published": Published(source="Somebody (2001)", figures=tuple(published))}
    )
    experiment = experiment_of(dataset, trials=2, solvers=KINDS)
    records = [
        record(experiment, solver, trial, 500, full=True, auc=value + 0.01 * (2 * trial - 1))
        for solver, value in zip(KINDS, measured, strict=True)
        for trial in range(2)
    ]
    return make(experiment, records, task=task)


def test_what_was_published_stands_beside_what_was_measured(make, tmp_path):
    seconds = PublishedFigure(solver="samult", measure="fit_seconds", value=925, decimals=0)
    unknown = PublishedFigure(solver="samult", measure="colour", value=1)
    flagged = figures(0.3, 0.1)[1].model_copy(update={"flag": "impossible: below 1/2"})
    published = [figures(0.85, 0.1)[0], flagged, seconds, unknown]
    one = results_of(make, "codrna", published, (0.9, 0.6))
    write_tables([one], tmp_path)
    frame = pd.read_csv(tmp_path / "tables" / "published_table.csv")
    assert frame["measure"].tolist() == ["auc", "auc", "fit_seconds"]
    assert frame["difference"].tolist()[:2] == pytest.approx([0.05, 0.5])
    assert frame["agrees"].tolist()[0] and frame["agrees"].isna().tolist() == [False, True, True]
    text = (tmp_path / "tables" / "published_table.md").read_text()
    measured = "mean ± standard deviation over 2 trials, 200 labelled rows."
    assert (
        f"AUC on the unlabelled rows, as published by Somebody (2001), and measured: {measured}"
        in text
    )
    assert (
        "Training time in seconds, as published by Somebody (2001), and measured: "
        "median [range] over 2 trials, 200 labelled rows." in text
    )
    assert "Bold: a difference within 0.05, up to rounding." in text
    headers = [line.replace(" ", "") for line in text.splitlines() if line.startswith("| Dataset")]
    both = "|Dataset|Solver|Published|Measured|"
    assert headers == [f"{both}Difference|Remark|", both]
    assert "0.900 ± 0.014" in text and "impossible: below 1/2" in text and "925" in text
    assert "1 of 1" in text and "1 published figures with a remark are left out" in text
    assert "Mean ranks" not in text


def test_agreement_and_ranks_over_datasets(make, tmp_path):
    first = results_of(make, "codrna", figures(0.9, 0.8), (0.9, 0.7))
    second = results_of(make, "ijcnn1", figures(0.6, 0.6), (0.5, 0.62))
    write_tables([first, second], tmp_path)
    text = (tmp_path / "tables" / "published_table.md").read_text()
    lines = [line.replace(" ", "") for line in text.splitlines()]
    assert "|QSG-S2AUC|1of2|" in lines and "|SAMULT|1of2|" in lines and "|All|2of4|" in lines
    # of equals each has the mean rank: (1 + 1.5)/2 published, (1 + 2)/2 measured
    assert "|QSG-S2AUC|1.2/1.5|" in lines and "|SAMULT|1.8/1.5|" in lines
    assert (tmp_path / "tables" / "codrna" / "published_table.csv").exists()
    assert text_table([first, second], ["published_table"]).count("Published") == 2


def test_without_published_figures_there_is_no_such_table(make, tmp_path):
    experiment = experiment_of("codrna", trials=1, solvers=KINDS[:1])
    results = make(experiment, [record(experiment, KINDS[0], 0, 500, full=True)])
    assert not any(path.stem == "published_table" for path in write_tables([results], tmp_path))
    with pytest.raises(ResultsError, match="no table 'published_table'"):
        write_tables([results], tmp_path, ["published_table"])
