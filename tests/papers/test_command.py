"""`dsg claims` on a made-up paper."""

import json
from functools import partial

import pytest

from tests.papers.conftest import DATASETS


@pytest.fixture
def dsg(run_dsg):
    """Return a function that runs ``dsg claims`` of the made-up paper."""
    return partial(run_dsg, "claims")


def test_the_overview_has_every_claim_and_counts_them(dsg, folders):
    code, out, _ = dsg(folders)
    assert code == 0
    assert out == (
        "mine: A paper\n"
        "Claim    Verdict\n"
        "mine-01  does not hold  A is as good as b.\n"
        "         useful: holds\n"
        "mine-02  holds          The error falls like 1/t.\n"
        "mine: 2 claims: 1 holds, 1 does not hold\n"
    )


@pytest.mark.parametrize("terminal", [False, True])
def test_a_terminal_shows_what_goes_on(dsg, folders, monkeypatch, terminal):
    monkeypatch.setenv("TTY_COMPATIBLE", "1" if terminal else "0")
    _, out, err = dsg(folders)
    assert out.startswith("mine: A paper\n")
    for title in ("reading results", "judging claims"):
        assert (title in err) is terminal
    assert ("100%" in err) is terminal


def test_folders_can_be_named_one_by_one(dsg, folders):
    chosen = [folders / f"{dataset}_s2auc-reference" for dataset in DATASETS]
    _, out, _ = dsg(*chosen)
    assert "useful: not testable here" in out
    assert "mine-02  holds " in out  # studies beside the folders count


def test_the_kept_results_are_the_default(dsg, folders, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "reference").symlink_to(folders)
    assert dsg() == dsg(folders)


def test_claims_that_no_result_tells_of_take_a_line(dsg, folders):
    _, out, _ = dsg(folders / f"{DATASETS[0]}_s2auc-reference")
    assert out.splitlines()[1:] == [
        "Claim    Verdict",
        "mine-02  holds    The error falls like 1/t.",
        "Not testable by these results (--id mine-01 says why): mine-01",
        "mine: 2 claims: 1 holds, 1 not testable here",
    ]


@pytest.mark.parametrize("command", ["claims", "pages"])
def test_without_the_kept_results_it_is_said_where_they_are(run_dsg, folders, command):
    code, _, err = run_dsg(command)
    assert code == 1
    assert err.startswith(
        "Error: results/reference: no such folder; the repository of dsgkit has it"
    )
    assert err.endswith("name the folder of your own runs\n")


def test_one_claim_in_full(dsg, folders):
    code, out, _ = dsg(folders, "--id", "mine-01")
    lines = out.splitlines()
    assert code == 0
    assert lines[:4] == [
        "mine-01: A is as good as b.",
        "(accuracy; sect. 1)",
        "protocol: does not hold",
        "useful: holds",
    ]
    (point,) = [line for line in lines if line.startswith("skin") and "-0.1" in line]
    assert point.split() == [
        *("skin", "2,000", "0.8", "0.9"),
        *("difference", "-0.1", "[-0.1,", "-0.1]", "no"),
    ]
    assert lines[-1] == "Why: The grid is too coarse. (shown by grids, not among these results)"


def test_an_explanation_is_shown_where_the_claim_fails_only(dsg, folders):
    (folders / "studies" / "grids.json").write_text('{"numbers": {}}')
    _, out, _ = dsg(folders, "--id", "mine-01,mine-02")
    assert dsg(folders, "--id", "mine-01", "--id", "mine-02")[1] == out
    assert out.count("Why:") == 1
    assert "(shown by grids)" in out


def test_json_has_verdicts_and_points(dsg, folders, tmp_path):
    dsg(folders, "--json", tmp_path / "out.json")
    data = json.loads((tmp_path / "out.json").read_text())
    (paper,) = data["papers"]
    assert paper["counts"]["does not hold"] == 1
    claim = paper["claims"][0]
    verdict = claim["verdicts"]["useful"]
    assert (verdict["outcome"], verdict["text"]) == ("holds", "holds")
    assert (verdict["counted"], verdict["tested"], verdict["sure"]) == (4, 4, 4)
    (point,) = [p for p in claim["judged"][0]["points"] if p["where"] == "skin"]
    assert (point["a_value"], point["counts"]) == (pytest.approx(0.8), 0.0)
    assert claim["judged"][0]["results"][0] == "codrna_s2auc-reference"


@pytest.mark.parametrize(
    "expected, code, told",
    [
        ("mine-01: does not hold\nmine-02: holds\n", 0, ""),
        ('{"mine-01": {"protocol": "does not hold", "useful": "holds"}}', 0, ""),
        (
            "mine-01: {useful: does not hold}\nmine-02: does not hold\n",
            1,
            "mine-01 (useful): expected does not hold, found holds\n"
            "mine-02 (protocol): expected does not hold, found holds\n",
        ),
    ],
)
def test_verdicts_can_be_expected(dsg, folders, tmp_path, expected, code, told):
    (tmp_path / "expected.yaml").write_text(expected)
    found = dsg(folders, "--expect", tmp_path / "expected.yaml")
    assert (found[0], found[2]) == (code, told)


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--id", "mine-11"], "unknown claim 'mine-11' (did you mean 'mine-01'?)"),
        (["--paper", "yours"], "unknown paper 'yours'; known: mine"),
        (["nowhere"], "nowhere: no such folder; name results folders, or a folder of them"),
        (["."], ".: neither a results folder nor one of folders with records"),
        (["--expect", "wrong.yaml"], "wrong.yaml:1: mine-1: no such claim was judged"),
        (["--expect", "no_verdict.yaml"], "no verdict: 'true'"),
    ],
)
def test_a_mistake_is_one_line(dsg, folders, tmp_path, arguments, told):
    (tmp_path / "wrong.yaml").write_text("mine-1: holds\n")
    (tmp_path / "no_verdict.yaml").write_text("mine-01: 'true'\n")
    given = arguments if arguments[0] in ("nowhere", ".") else [folders, *arguments]
    code, _, err = dsg(*given)
    assert code == 1
    assert told in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_two_folders_of_one_experiment_are_refused(dsg, folders):
    twice = folders / "codrna_s2auc-wide"
    code, _, err = dsg(folders, twice)
    assert (code, err.count("\n")) == (1, 1)
    assert "holds codrna_s2auc-wide, as" in err


def test_a_study_that_is_none_is_named(dsg, folders):
    (folders / "studies" / "convergence.json").write_text("[]")
    code, _, err = dsg(folders)
    assert (code, "convergence.json: is not what a study writes" in err) == (1, True)
