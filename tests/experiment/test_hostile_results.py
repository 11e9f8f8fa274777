"""Results folders that somebody has damaged, invented, or taken away while a run writes to them.

The corpus is made from the schemas: a field that is added to one is in it.
"""

import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from dsgkit.config.schema import load_experiment, read_experiment
from dsgkit.errors import FitError, ResultsError
from dsgkit.experiment import cells
from dsgkit.experiment.artefacts import keep_artefact
from dsgkit.experiment.description import describe
from dsgkit.experiment.environment import Environments
from dsgkit.experiment.folder import (
    DatasetFacts,
    PlanEntry,
    read_dataset,
    read_environment,
    read_plan,
    read_task,
)
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.plan import Cell
from dsgkit.experiment.records import RecordSchema, UnreadableError, parse, read_records
from dsgkit.experiment.results import frames, load_results
from dsgkit.experiment.reuse import copy_records
from dsgkit.experiment.runner import Options, run_experiment
from dsgkit.experiment.selection import choose
from dsgkit.experiment.status import describe_status, read_status
from dsgkit.experiment.store import CELLS, Store
from dsgkit.report import draw_figures, text_table, write_tables
from dsgkit.report.html import write_page
from dsgkit.tasks.measures import Axis, Description, Measure, PublishedFigure
from tests.experiment.in_process import InProcess
from tests.experiment.runs import key_of, plan_text

EXPERIMENT = read_experiment(
    {
        "name": "digits_s2auc",
        "dataset": {"name": "digits"},
        "protocol": {"kind": "semi_supervised_auc", "trials": 2},
        "solvers": {"qsg_s2auc": {"params": {"sigma": 1.0}}, "samult": {"params": {"sigma": 1.0}}},
    }
)
NESTED = "[" * 200_000
HOSTILE = [
    *r"""
    null true -1 0 1 3.5 1e308 -1e308 1e999 NaN Infinity [] {} [["x"]] [{"a":{"b":1}}] {"x":NaN}
    "" "x" "../../x" "/etc/x" "\u0000" "\ud800" "a\nb\u001b[31m" "$\\frac{$" "a\u202eb\u200b"
    """.split(),  # noqa: SIM905
    *('{"": 1e308}', "9" * 30, "9" * 5000, '"' + "x" * 20_000 + '"', NESTED),
]
"""Of any field, as JSON."""


def fit(key, **fields):
    return {
        "key": key_of(key),
        "kind": "fit",
        "solver": "qsg_s2auc",
        "trial": 0,
        "at": {"unlabeled": 100},
        "status": "ok",
        "scores": {"auc": 0.75},
        "times": {"fit": 2.5},
    } | fields


def seal(body):
    """A line with the checksum that belongs to it, whatever it holds."""
    body = body if isinstance(body, bytes) else body.encode()
    check = hashlib.sha256(body).hexdigest()[:12]
    return body[:-1] + f', "check": "{check}"}}\n'.encode()


def with_field(whole, name, text):
    """An object as JSON, with a text in the place of one of its values."""
    return json.dumps(whole | {name: "HERE"}).replace('"HERE"', text)


def lines_of(whole, fields):
    """A line for every field and every hostile value of it."""
    return [
        with_field(whole | {"key": key_of(f"{name}{text[:99]}")}, name, text)
        for name in fields
        for text in HOSTILE
    ]


@pytest.fixture
def folder(tmp_path):
    """A results folder with what is not of cells."""
    path = tmp_path / "results" / "digits_s2auc"
    path.mkdir(parents=True)
    (path / "config.yaml").write_text(EXPERIMENT.to_yaml())
    (path / "task.json").write_text(describe(EXPERIMENT).model_dump_json())
    return path


def files_of(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and not p.is_symlink()}


def one_line(error, *names):
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 600
    assert all(str(name) in text for name in names)


def test_a_hostile_field_of_a_record_is_refused_or_harmless(folder, tmp_path):
    hostile = lines_of(fit("x"), RecordSchema.__annotations__)
    (folder / CELLS).write_bytes(b"".join(map(seal, [json.dumps(fit("good")), *hostile])))
    assert len(hostile) > 700
    records, bad = read_records(folder / CELLS)
    assert key_of("good") in records
    assert bad.number > len(hostile) // 2
    results = load_results(folder)
    text_table([results])
    write_tables([results], tmp_path / "out")
    write_page([results], tmp_path / "out" / "page.html")
    entries = ({"flops": 1} | {k: r[k] for k in PlanEntry._fields[:5]} for r in results.records)
    (folder / "plan.json").write_text(plan_text(list(entries)))
    text = describe_status(read_status(folder), tracebacks=True)
    assert f"unreadable lines of cells.jsonl: {results.bad.number}" in text
    assert all(line.isprintable() for line in text.split("\n"))
    with Store(folder) as store:
        assert len(store.records) == len(records)
        kept = store.set_aside.read_bytes()
    assert kept.count(b"\n") == bad.number
    assert read_records(folder / CELLS)[1] is None


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(fit("a")).encode() + b"\n",  # without a checksum
        seal(json.dumps(fit("a"))).replace(b"0.75", b"0.95"),
        seal(NESTED),
        seal('{"key": ' + NESTED),
        seal(json.dumps(fit("a")).encode("utf-16")),
        b"\n",
        b"\xff\xfe\x00\n",
        b'", "check": "000000000000"}\n',
    ],
)
def test_what_is_no_sealed_record_is_no_result(folder, line):
    (folder / CELLS).write_bytes(line + seal(json.dumps(fit("b"))))
    records, bad = read_records(folder / CELLS)
    assert records.keys() == {key_of("b")}
    assert f"{CELLS}, line 1: " in bad.first
    assert "\n" not in bad.first
    with Store(folder.parent / "mine") as store:
        assert copy_records(store, {key_of("a"), key_of("b")}) == 1
    with Store(folder) as store:
        assert len(store.records) == 1
        assert store.set_aside.read_bytes() == line


OTHERS = [
    ("dataset.json", DatasetFacts.__annotations__, {}, read_dataset),
    ("environment.json", ("x",), {}, lambda folder: read_environment(folder / "environment.json")),
    ("task.json", Description.model_fields, None, read_task),
    ("task.json", Measure.model_fields, "measures", read_task),
    ("task.json", Axis.model_fields, "axis", read_task),
    ("task.json", PublishedFigure.model_fields, "published", read_task),
]


@pytest.mark.parametrize(("name", "fields", "whole", "read"), OTHERS)
def test_a_hostile_field_of_another_file_is_one_line_or_harmless(folder, name, fields, whole, read):
    (folder / CELLS).write_bytes(seal(json.dumps(fit("a"))))
    results, refused = load_results(folder), []
    for field in fields:
        for text in HOSTILE:
            (folder / name).write_text(_file(whole, field, text))
            try:
                found = read(folder)
            except ResultsError as error:
                refused.append(str(error))
            else:
                if isinstance(found, Description) and found.axis == results.task.axis:
                    told = frames(results.records, found)
                    text_table([replace(results, task=found, **told)])
    assert len(refused) > len(fields) * len(HOSTILE) // 4
    assert all("\n" not in text and len(text) < 600 for text in refused)


def _file(whole, field, text):
    """The text of a file with a hostile field: of the task, of one of its parts, or of another."""
    if isinstance(whole, dict):
        return with_field(whole, field, text)
    task = describe(EXPERIMENT).model_dump(mode="json")
    if whole is None:
        return with_field(task, field, text)
    parts = {
        "measures": lambda part: [part],
        "axis": lambda part: part,
        "published": lambda part: {"source": "s", "figures": [part]},
    }
    figure = {"solver": "samult", "measure": "auc", "value": 0.5}
    known = {"measures": task["measures"][0], "axis": task["axis"], "published": figure}
    hostile = parts[whole](known[whole] | {field: "HERE"})
    return json.dumps(task | {whole: hostile}).replace('"HERE"', text)


FILES = ["../../x", "/tmp/x", ".x", "a/b", "", "a\\b", "a\x00b"]
TEXTS = [r"$\frac{$", "a $", "a\x1b[31m", "a\nb", "a\x9b31m"]
PLACES = dict.fromkeys(("measures.0.title", "measures.0.where", "axis.title", "setting"), TEXTS)


@pytest.mark.parametrize("place", [*PLACES, "measures.0.file"])
def test_a_task_names_no_file_elsewhere_and_no_text_that_cannot_be_drawn(folder, place):
    for text in PLACES.get(place, FILES):
        task = describe(EXPERIMENT).model_dump(mode="json")
        part, *names = task, *place.split(".")
        *above, last = (int(name) if name.isdigit() else name for name in names)
        for name in above:
            part = part[name]
        part[last] = text
        (folder / "task.json").write_text(json.dumps(task))
        with pytest.raises(ResultsError, match=r"task\.json: unexpected content") as error:
            load_results(folder)
        one_line(error, place)
        assert str(error.value).isprintable()


def test_what_no_config_has_checked_is_drawn_as_it_stands(folder, tmp_path):
    """A solver that the config does not have, with a formula that is none."""
    hostile = [fit("a", solver="x", label=r"$\frac{$"), fit("b", solver=r"$\frac{$", trial=1)]
    lines = [seal(json.dumps(record)) for record in [fit("c"), *hostile]]
    (folder / CELLS).write_bytes(b"".join(lines))
    assert draw_figures([load_results(folder)], tmp_path / "out", ["auc_boxplot"])


def test_a_measure_does_not_take_another_columns_place(folder):
    task = describe(EXPERIMENT).model_dump(mode="json")
    for name in ("size", "params", "solver", "mean", "unlabeled", "peak_memory"):
        measures = [*task["measures"], task["measures"][0] | {"name": name}]
        (folder / "task.json").write_text(json.dumps(task | {"measures": measures}))
        with pytest.raises(ResultsError, match=f"no measure can be called '{name}'"):
            load_results(folder)


def test_a_search_without_points_and_a_parameter_of_lists_are_shown(folder, tmp_path):
    config = EXPERIMENT.model_dump(mode="json")
    config["solvers"] = {"qsg_s2auc": {"grid": {"sigma": [1.0, 2.0]}}}
    (folder / "config.yaml").write_text(read_experiment(config).to_yaml())
    fits = [fit("a", params={"sigma": [[1], [2, [3]]]}), fit("b", trial=1, params={"sigma": 1.0})]
    searches = [fit(str(n), kind="search", trial=n, status="failed") for n in range(2)]
    (folder / CELLS).write_bytes(b"".join(seal(json.dumps(r)) for r in (*fits, *searches)))
    write_tables([load_results(folder)], tmp_path / "out")
    (table,) = (path.read_text() for path in tmp_path.rglob("params_table.csv"))
    assert table.count("qsg_s2auc") + table.count("QSG-S2AUC") == 2


def test_a_hostile_entry_of_a_plan_is_one_line_or_harmless(folder):
    good = {k: v for k, v in fit("a").items() if k in PlanEntry._fields} | {"flops": 1}
    axis = describe(EXPERIMENT).axis
    refused = 0
    for line in lines_of(good, PlanEntry._fields):
        (folder / "plan.json").write_text(f"[\n{json.dumps(good)},\n{line}\n]\n")
        try:
            assert len(read_plan(folder, axis).cells) == 2
            describe_status(read_status(folder))
        except ResultsError as error:
            refused += 1
            assert "plan.json: unexpected content (" in str(error)
            assert "\n" not in str(error)
    assert refused > 100


def test_a_plan_that_is_cut_off_or_none_is_one_line(folder):
    good = {k: v for k, v in fit("a").items() if k in PlanEntry._fields} | {"flops": 1}
    cut_off = [plan_text([good, good])[:cut].encode() for cut in (0, 1, 2, 30, -2, -1)]
    for text in (*cut_off, b"nonsense", b"\xff\xfe\x00", b"{}", b"[1]", b"[[]]", b'[{"key": 1}]'):
        (folder / "plan.json").write_bytes(text)
        for read in (read_status, load_results):
            with pytest.raises(ResultsError, match=r"plan\.json: ") as error:
                read(folder)
            one_line(error)


def test_a_record_without_the_swept_size_is_none(folder):
    (folder / CELLS).write_bytes(seal(json.dumps(fit("a", at={}))) + seal(json.dumps(fit("b"))))
    results = load_results(folder)
    assert [record["key"] for record in results.records] == [key_of("b")]
    assert results.bad == (1, f"{folder / CELLS}, line 1: it has no number of unlabelled")


SPECIAL = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "loop": lambda path: path.symlink_to(path),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_file_is_neither_waited_for_nor_read(folder, kind):
    for name in ("cells.jsonl", "plan.json", "task.json", "dataset.json", ".lock"):
        path = folder / name
        before = path.read_bytes() if path.is_file() else None
        path.unlink(missing_ok=True)
        SPECIAL[kind](path)
        if name == ".lock":
            with pytest.raises(ResultsError, match="cannot write results there") as error:
                Store(folder)
        else:
            with pytest.raises(ResultsError) as error:
                load_results(folder)
        one_line(error, folder)
        with Store(folder.parent / "mine") as store:  # nor does it stop another run
            assert copy_records(store, {key_of("a")}) == 0
        path.rmdir() if kind == "folder" else path.unlink()
        if before is not None:
            path.write_bytes(before)


@pytest.mark.parametrize("name", ["../../../stolen", "/tmp/stolen", "a/b", "..", "a" * 12, ""])
def test_a_sibling_writes_nothing_outside_and_nothing_that_is_not_what_its_name_says(
    tmp_path, name
):
    sibling = tmp_path / "a" / "b" / "out" / "sibling"
    (sibling / "environments").mkdir(parents=True)
    (tmp_path / "secret.json").write_text("{}")
    (sibling / "environments" / ("a" * 12 + ".json")).symlink_to(tmp_path / "secret.json")
    (tmp_path / "a" / "stolen.json").write_text('{"here": 1}')
    record = fit("a", environment=name)
    (sibling / CELLS).write_bytes(seal(json.dumps(record)))
    before = files_of(tmp_path)
    mine = sibling.parent / "mine"
    with Store(mine) as store:
        copied = copy_records(store, {key_of("a")})
    assert copied == (name == "a" * 12)
    assert files_of(tmp_path).keys() - before.keys() == {mine / CELLS, mine / ".lock"}


def test_an_environment_is_copied_that_is_what_its_name_says(tmp_path):
    with Store(tmp_path / "sibling") as store:
        name = Environments(store.folder).name({"threads": 2})
        store.append(fit("a", environment=name))
    with Store(tmp_path / "mine") as store:
        copy_records(store, {key_of("a")})
    copied = tmp_path / "mine" / "environments" / f"{name}.json"
    assert read_environment(copied) == {"threads": 2}


def test_an_environment_of_another_form_is_not_copied(tmp_path):
    (tmp_path / "sibling" / "environments").mkdir(parents=True)
    with Store(tmp_path / "sibling") as store:
        for number, content in enumerate((b"\xff\xfe{}", b"not json", b"[1]", b'{"x": NaN}', b"")):
            name = hashlib.sha256(content).hexdigest()[:12]
            store.append(fit(str(number), environment=name))
            (tmp_path / "sibling" / "environments" / f"{name}.json").write_bytes(content)
    with Store(tmp_path / "mine") as store:
        assert copy_records(store, {key_of(str(number)) for number in range(5)}) == 5
    assert not (tmp_path / "mine" / "environments").exists()


def test_a_sibling_line_that_names_two_keys_is_passed_over(tmp_path):
    (tmp_path / "sibling").mkdir()
    one, other = json.dumps(fit("a")), json.dumps({"key": key_of("b")})
    both = one[:-1] + f", {other[1:]}"
    (tmp_path / "sibling" / CELLS).write_bytes(seal(both) + seal(json.dumps(fit("c"))))
    with Store(tmp_path / "mine") as store:
        assert copy_records(store, {key_of("a"), key_of("b"), key_of("c")}) == 1
        assert key_of("c") in store.records


def test_a_record_of_a_sibling_that_cannot_be_stored_is_passed_over(tmp_path, monkeypatch):
    """It is longer as this release writes it."""
    (tmp_path / "sibling").mkdir()
    long = json.dumps(fit("a", scores={"auc": 1e9})).replace("1000000000.0", "1e9")
    (tmp_path / "sibling" / CELLS).write_bytes(seal(long) + seal(json.dumps(fit("c", scores={}))))
    monkeypatch.setattr("dsgkit.experiment.records.MAX_LINE_BYTES", len(seal(long)))
    with Store(tmp_path / "mine") as store:
        assert copy_records(store, {key_of("a"), key_of("c")}) == 1
        assert key_of("c") in store.records


def test_an_artefact_of_a_sibling_that_is_no_file_is_not_copied(tmp_path):
    with Store(tmp_path / "sibling") as store:
        store.append(keep_artefact(store.folder, fit("a", artefact={"rows": [1]})))
    path = tmp_path / "sibling" / "artefacts" / f"{key_of('a')}.npz"
    for kind, make in SPECIAL.items():
        path.unlink()
        make(path)
        with Store(tmp_path / f"mine {kind}") as store:
            assert copy_records(store, {key_of("a")}) == 0
        if kind == "folder":
            path.rmdir()
            path.touch()


WRITES = [
    lambda folder: Store(folder).close(),
    lambda folder: Environments(folder).name({"threads": 1}),
    lambda folder: keep_artefact(folder, fit("a", artefact={"rows": [1]})),
    lambda folder: write_tables([load_results(folder)], folder),
]


@pytest.mark.parametrize("name", ["cells.jsonl", ".lock", "environments", "artefacts", "tables"])
def test_nothing_is_written_through_a_link(folder, tmp_path, name):
    (folder / CELLS).write_bytes(seal(json.dumps(fit("a"))))
    victim = tmp_path / "victim"
    if name in (CELLS, ".lock"):
        victim.write_bytes(seal(json.dumps(fit("a"))) + b"mine")
        (folder / name).unlink(missing_ok=True)
    else:
        victim.mkdir()
    (folder / name).symlink_to(victim)
    before = victim.read_bytes() if victim.is_file() else []
    refused = 0
    for write in WRITES:
        try:
            write(folder)
        except ResultsError as error:
            refused += 1
            assert "link" in str(error)
            assert "\n" not in str(error)
        assert (victim.read_bytes() if victim.is_file() else list(victim.iterdir())) == before
    assert refused


def save_anew(folder):
    """Save the file anew, as editors do."""
    content = (folder / CELLS).read_bytes()
    (folder / "new").write_bytes(content)
    (folder / "new").rename(folder / CELLS)


TAKEN_AWAY = {
    "replaced by another file": save_anew,
    "removed during": lambda folder: (folder / CELLS).unlink(),
    "removed with its folder": shutil.rmtree,
    "replaced by another": lambda folder: (
        shutil.rmtree(folder),
        folder.mkdir(),
        (folder / CELLS).touch(),
    ),
}


@pytest.mark.parametrize("words", TAKEN_AWAY)
@pytest.mark.parametrize("when", ["append", "end", "files"])
def test_a_store_whose_file_is_taken_away_says_so_and_loses_nothing(tmp_path, words, when):
    folder = tmp_path / "results" / "small"
    with pytest.raises(ResultsError, match=words) as error, Store(folder) as store:
        store.append(fit("a"))
        TAKEN_AWAY[words](folder)
        if when == "append":
            store.append(fit("b"))
        elif when == "files":
            raise ResultsError("the files of a record cannot be written")
    one_line(
        error, "the same `dsg run` continues from there", *["the files of"] * (when == "files")
    )
    kept = {key_of(name) for name in ("ab" if when == "append" else "a")}
    place = Path(str(error.value).partition("its results are in ")[2].partition(", and")[0])
    assert read_records(place)[0].keys() == kept
    with Store(folder) as store:
        copy_records(store, kept)
        assert {key for key in kept if key in store.records} == kept


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda path: path.write_bytes(b""), "b"),
        (lambda path: path.write_bytes(b"x\n"), "b"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x\n"), "ab"),
    ],
)
def test_a_store_whose_file_is_changed_in_place_says_what_is_left(tmp_path, change, left):
    folder = tmp_path / "results" / "small"  # records of its siblings would be copied
    changed = pytest.raises(ResultsError, match="changed by something else")
    with changed as error, Store(folder) as store:
        store.append(fit("a"))
        change(folder / CELLS)
        store.append(fit("b"))
    one_line(error, "; what is left of its results is in ")
    kept = {key_of(name) for name in left}
    (rescued,) = folder.glob("rescued-*.jsonl")
    assert str(rescued) in str(error.value)
    assert read_records(rescued)[0].keys() == kept
    with Store(folder) as store:
        copy_records(store, {key_of("a"), key_of("b")})
        assert {key for key in (key_of("a"), key_of("b")) if key in store.records} == kept


class Vanishing(InProcess):
    """Cells that run in this process, until the folder of their results is taken away."""

    left = 3

    def wait(self):
        ended = super().wait()
        self.left -= 1
        if self.left == 0:
            shutil.rmtree(self.folder)
        return ended


def test_a_run_whose_folder_vanishes_ends_and_the_next_one_goes_on(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "_bench", None)
    experiment = load_experiment(toy, overrides=["protocol.trials=1"])
    folder = tmp_path / "results" / "toy"
    vanishing = Vanishing()
    vanishing.folder = folder
    monkeypatch.setattr(Options, "executor", lambda *_: vanishing)
    with pytest.raises(ResultsError, match="removed with its folder") as error:
        run_experiment(experiment, folder, Options(once=True))
    one_line(error)
    assert not folder.exists()
    monkeypatch.setattr(Options, "executor", lambda *_: InProcess())
    outcome = run_experiment(experiment, folder, Options(once=True))
    assert outcome.reused == 3
    assert outcome.ended == []


def search(key, **fields):
    found = {"points": [{"lam": 1.0}, {"lam": 2.0}], "fold_scores": [[0.5, 0.5], [0.6, 0.7]]}
    return fit(key) | {"kind": "search"} | found | fields


@pytest.mark.parametrize(
    "fields",
    [
        {"points": []},
        {"fold_scores": []},
        {"fold_scores": [[0.5], [0.5, 0.6]]},
        {"points": [{"lam": 1.0}]},
    ],
)
def test_a_search_of_another_form_is_set_aside(tmp_path, fields):
    (tmp_path / CELLS).write_bytes(seal(json.dumps(search("a", **fields))))
    with Store(tmp_path) as store:
        assert key_of("a") not in store.records
        assert store.set_aside is not None


@pytest.mark.parametrize(
    ("fields", "settled"),
    [
        ({"kind": "fit", "points": []}, True),
        ({"status": "timeout"}, False),
        ({"status": "out_of_memory"}, False),
        ({"fold_scores": [[0.5], [0.6]]}, True),
    ],
)
def test_a_share_of_a_search_that_does_not_go_with_the_others_is_one_line(fields, settled):
    """Somebody else may have written it."""
    cell = Cell("fit", "s", 0, {}, (({"lam": 1.0}, {"lam": 2.0}),), {})
    shares = [search("a", **fields), search("b")]
    with pytest.raises(FitError) as error:
        choose(cell, shares, better="higher", smoother={})
    one_line(error)
    assert Limits(timeout=1.0).settle(shares[0]) == settled


def test_a_record_that_cannot_be_stored_is_refused_before_it_is_written(tmp_path):
    with Store(tmp_path) as store:
        for record in (
            fit("a", scores={"auc": float("nan")}),
            fit("a", scores={"auc": 1e200}),
            fit("a", params={"lam": object()}),
            fit("a", trial="0"),
            fit("../a") | {"key": "../a"},
        ):
            with pytest.raises(ResultsError, match="a record was refused") as error:
                store.append(record)
            one_line(error)
        store.append(fit("b", message="\udcff"))
        assert store.records[key_of("b")]["message"] == "?"
    assert len(read_records(tmp_path / CELLS)[0]) == 1


MANY = 12_000
MANY_WRONG = {
    "items": [{"": {}}] * MANY,
    "items of items": [[[{}] * MANY] * 2],
    "entries": {str(number): [{}] for number in range(MANY)},
    "entries of an item": [{str(number): [{}] for number in range(MANY)}],
    "entries that are right": {f"{number:08}": 1 for number in range(MANY)},
}


@pytest.mark.parametrize("what", MANY_WRONG)
def test_of_what_is_wrong_in_a_record_only_the_first_is_kept(what, monkeypatch):
    """A line of 5 MiB took two minutes and 11 GiB."""
    counted = []
    monkeypatch.setattr("dsgkit.experiment.records._MAX_TEXT", 2**16)
    monkeypatch.setattr(
        "dsgkit.experiment.records.why", lambda error: counted.append(error.error_count()) or ""
    )
    for name in RecordSchema.__annotations__:
        with pytest.raises(UnreadableError):
            parse(seal(json.dumps(fit("a") | {name: MANY_WRONG[what]})), whole=True)
    assert all(count < 5 for count in counted)
    assert (counted == []) == what.startswith("entries")


def test_a_line_without_end_is_read_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("dsgkit.experiment.records.MAX_LINE_BYTES", 4096)
    good = seal(json.dumps(fit("a")))
    (tmp_path / CELLS).write_bytes(
        good + b"x" * 9000 + b"\n" + good.replace(b" ", b"") + b"y" * 9000
    )
    assert read_records(tmp_path / CELLS)[0].keys() == {key_of("a")}
    with Store(tmp_path) as store:
        assert len(store.records) == 1
    with Store(tmp_path) as store, pytest.raises(ResultsError, match="longer than"):
        store.append(fit("b", message="x" * 5000))


def test_a_results_folder_may_itself_be_a_link(folder, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(folder)
    with Store(link) as store:
        store.append(fit("a"))
    assert len(load_results(link).cells) == 1
