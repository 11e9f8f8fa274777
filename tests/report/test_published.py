"""Published figures beside measured ones."""

import pandas as pd
import pytest

from dsgkit.errors import ResultsError
from dsgkit.report import text_table, write_tables
from dsgkit.tasks.measures import Published, PublishedFigure
from tests.report.conftest import RANKING

KINDS = ("qsg_s2auc", "samult")


def figures(*values):
    told = {"measure": "auc", "tolerance": 0.05}
    pairs = zip(KINDS, values, strict=True)
    return [PublishedFigure(solver=solver, value=value, **told) for solver, value in pairs]


@pytest.fixture
def beside(fits):
    """Return a function that makes results beside published figures."""

    def make_results(dataset, figures, measured):
        published = Published(source="Somebody (2001)", figures=tuple(figures))
        values = {
            solver: {500: [value - 0.01, value + 0.01]}
            for solver, value in zip(KINDS, measured, strict=True)
        }
        task = RANKING.model_copy(update={"published": published})
        return fits(values, dataset=dataset, task=task, full=True)

    return make_results


def test_agreement_and_ranks_over_datasets(beside, written):
    unknown = PublishedFigure(solver="samult", measure="colour", value=1)
    first = beside("codrna", [*figures(0.9, 0.8), unknown], (0.9, 0.7))
    second = beside("ijcnn1", figures(0.6, 0.6), (0.5, 0.62))
    tables = written(first, second)
    frame = pd.read_csv(tables.folder / "published_table.csv")
    assert frame["difference"].tolist() == pytest.approx([0, -0.1, -0.1, 0.02])
    assert frame["agrees"].tolist() == [True, False, False, True]
    lines = tables.text("published_table").replace(" ", "").splitlines()
    assert {"|QSG-S2AUC|1of2|", "|SAMULT|1of2|", "|All|2of4|"} <= set(lines)
    # of equals each has the mean rank: (1 + 1.5)/2 published, (1 + 2)/2 measured
    assert {"|QSG-S2AUC|1.2/1.5|", "|SAMULT|1.8/1.5|"} <= set(lines)
    assert (tables.folder / "codrna" / "published_table.csv").exists()
    assert text_table([first, second], ["published_table"]).count("Published") == 2


def test_without_published_figures_there_is_no_such_table(fits, written, tmp_path):
    results = fits({"samult": {500: [0.5]}})
    assert "published_table" not in written(results).names
    with pytest.raises(ResultsError, match="no table 'published_table'"):
        write_tables([results], tmp_path, ["published_table"])
