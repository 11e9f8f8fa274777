"""`dsg claims` on a made-up paper."""

import json
from functools import partial

import pytest

from tests.papers.judged import DATASETS


@pytest.fixture
def dsg(run_dsg):
    """Return a function that runs ``dsg claims`` of the made-up paper."""
    return partial(run_dsg, "claims")


OVERVIEW = """mine: A paper
Claim    Verdict                              Statement
-------  -----------------------------------  -------------------------
mine-01  does not hold (0 of 4)               A is as good as b.
         with tuned settings: holds (4 of 4)
mine-02  holds (1 of 1)                       The error falls like 1/t.
mine: 2 claims: 1 holds, 1 does not hold
"""


@pytest.mark.parametrize("terminal", [False, True])
def test_the_overview_has_every_claim_and_counts_them(dsg, folders, monkeypatch, terminal):
    monkeypatch.setenv("TTY_COMPATIBLE", "1" if terminal else "0")
    code, out, err = dsg(folders)
    assert (code, out) == (0, OVERVIEW)
    assert [text in err for text in ("reading results", "judging claims", "100%")] == [terminal] * 3


def test_some_folders_can_be_named_and_the_kept_ones_are_the_default(dsg, folders, tmp_path):
    _, out, _ = dsg(*(folders / f"{dataset}_s2auc-reference" for dataset in DATASETS))
    assert "with tuned settings: not testable here" in out
    assert "mine-02  holds " in out  # studies beside the folders count
    _, out, _ = dsg(folders / f"{DATASETS[0]}_s2auc-reference")
    assert out.splitlines()[3:] == [
        "mine-02  holds (1 of 1)  The error falls like 1/t.",
        "Not testable by these results (--id mine-01 says why): mine-01",
        "mine: 2 claims: 1 holds, 1 not testable here",
    ]
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "reference").symlink_to(folders)
    assert dsg()[1] == OVERVIEW


def test_claims_in_full(dsg, folders):
    code, out, _ = dsg(folders, "--id", "mine-01")
    lines = out.splitlines()
    assert code == 0
    told = "mine-01: with the paper's settings: does not hold (0 of 4); with tuned settings: holds"
    assert lines[0] == f"{told} (4 of 4)"
    words = [line.split() for line in lines]
    assert ["Where", "Size", "OWN", "OTHER", "Difference", "Agrees"] in words
    assert ["skin", "2,000", "0.8", "0.9", "-0.1", "[-0.1,", "-0.1]", "no"] in words
    assert "Why: The grid is too coarse. (shown by grids)" in lines
    # an explanation is for claims that fail
    _, out, _ = dsg(folders, "--id", "mine-01,mine-02")
    assert [out.count(x) for x in ("Why:", "(shown by grids)", "Better is as")] == [1, 1, 1]


def test_json_has_verdicts_and_points(dsg, folders, tmp_path):
    dsg(folders, "--json", tmp_path / "out.json")
    (paper,) = json.loads((tmp_path / "out.json").read_text())["papers"]
    assert paper["counts"]["does not hold"] == 1
    claim = paper["claims"][0]
    verdict = {"outcome": "holds", "counted": 4, "tested": 4}
    assert claim["verdicts"]["useful"].items() >= verdict.items()
    (point,) = [p for p in claim["judged"][0]["points"] if p["where"] == "skin"]
    assert (point["a_value"], point["counts"]) == (pytest.approx(0.8), 0.0)
    assert claim["judged"][0]["results"][0] == "codrna_s2auc-reference"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["kept", "--id", "mine-11"], "unknown claim 'mine-11' (did you mean 'mine-01'?)"),
        (["kept", "--paper", "yours"], "unknown paper 'yours'; known: mine"),
        (["nowhere"], "nowhere: no such folder; name results folders, or a folder of them"),
        (["."], ".: neither a results folder nor one of folders with records"),
        ([], "results/reference: no such folder; the repository of dsgkit has it"),
        (["kept", "kept/codrna_s2auc-wide"], "holds codrna_s2auc-wide, as "),
        (["kept", "studies/x.json"], "kept/studies/x.json: is not what a study writes"),
        (["kept", "skin_s2auc-wide/config.yaml"], "skin_s2auc-wide/config.yaml:2: not valid YAML"),
    ],
)
def test_a_mistake_is_one_line(dsg, folders, arguments, told):
    if arguments[1:] and arguments[1].endswith((".json", ".yaml")):
        (folders / arguments.pop()).write_text("[")
    code, _, err = dsg(*arguments)
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith("Error: ") and told in err
