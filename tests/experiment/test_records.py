"""Records that are held in little memory are what a plain dictionary would hold."""

import copy
import json

from hypothesis import given
from hypothesis import strategies as st

from dsgkit.experiment.records import Records

VALUES = st.sampled_from([None, 1, 1.0, True, "1", [1], [1.0]])
POINTS = st.dictionaries(st.sampled_from("ab"), VALUES)
NUMBERS = st.dictionaries(st.sampled_from(["fit", "load", "keys"]), st.sampled_from([0.5, None]))
RECORDS = st.fixed_dictionaries(
    {"key": st.sampled_from("xyz"), "at": st.sampled_from([{}, {"unlabeled": 1}])},
    optional={
        "status": st.sampled_from(["ok", "failed"]),
        "params": POINTS,
        "points": st.lists(POINTS, max_size=2),
        "times": NUMBERS,
        "scores": NUMBERS,
        "diagnostics": NUMBERS,
        "needed": st.sampled_from([1, 1.0]),
    },
)


def spelled(records):
    """Their text, in which 1, 1.0 and true differ, as do orders."""
    return json.dumps(list(records.items()))


@given(st.lists(RECORDS, max_size=8))
def test_they_are_those_that_were_kept_last(given_records):
    plain, records = {}, Records()
    for record in given_records:
        plain[record["key"]] = record
        records.keep(copy.deepcopy(record))
    assert spelled(records) == spelled(plain)
    for key in "xyz":
        for name in ("key", "at", "status", "params", "times", "scores", "diagnostics", "nothing"):
            assert records.entry(key, name) == plain.get(key, {}).get(name)
        assert (key in records) == (key in plain)
    for record in records.values():
        record["status"] = "changed"
        record.get("times", {})["fit"] = "changed"
    assert spelled(records) == spelled(plain)
    some = {key: record for key, record in plain.items() if key in "xy"}
    assert spelled(records.among({"x", "y"})) == spelled(some)
