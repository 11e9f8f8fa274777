"""Solvers that would end the process in charge, hold it, or have it take something for a result."""

import enum
import itertools
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dsgkit import cli
from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import ConfigError
from dsgkit.experiment import cells, workers
from dsgkit.experiment.channel import Channel, MessageError, read_message, write_message
from dsgkit.experiment.jobs import Job
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.plan import make_plan
from dsgkit.experiment.workers import LocalWorkers
from dsgkit.users_code import rehearsal
from tests.conftest import change_toy
from tests.experiment.runs import dsg, dsg_here

WAYS = {
    "sys.exit(0)": "raises SystemExit: 0 (faking.py:",
    "sys.exit()": "raises SystemExit (faking.py:",
    "raise_(KeyboardInterrupt)": "raises KeyboardInterrupt (faking.py:",
    "raise_(GeneratorExit)": "raises GeneratorExit (faking.py:",
    "raise_(Odd)": "raises Odd (faking.py:",
    "os._exit(0)": "ends the process, with exit code 0;",
    "os._exit(3)": "ends the process, with exit code 3;",
    "ctypes.CDLL(None)._exit(0)": "ends the process, with exit code 0;",
    "os.execv('/bin/true', ['true'])": "ends the process, with exit code 0;",
    "os.fork() and os._exit(0)": "ends the process, with exit code 0;",
    "os.kill(os.getpid(), signal.SIGKILL)": "ends the process, by SIGKILL;",
    "os.kill(os.getpid(), signal.SIGUSR1)": "ends the process, by SIGUSR1;",
    "os.kill(os.getpid(), signal.SIGRTMIN + 1)": "ends the process, by signal ",
}
"""What is done, and what is said of it."""

PLACES = {
    "import": "importing 'faking'",
    "__new__": "Mine",
    "__init__": "Mine",
    "get_params": "Mine",
    "chosen": "planning faking:Mine",
    "cost": "planning faking:Mine",
    "_check_params": "planning faking:Mine",
}
"""Where it is done, and what is said of that."""

HANGS = {
    "import": "time.sleep(1000)",
    "__init__": "re.match('(a+)+$', 64 * 'a' + 'b')",  # in C, without giving up the GIL
    "cost": "os.fork() and time.sleep(1000)",
}

MODULE = """
import ctypes, os, re, signal, sys, time
from dsgkit.numerics.costs import Cost

class Odd(BaseException): pass

def raise_(kind): raise kind

def at(place):
    if place == {place!r}: {way}

at("import")

class Mine:
    tasks, version = ("semi_supervised_auc",), 1
    def __new__(cls, width=1):
        at("__new__")
        return super().__new__(cls)
    def __init__(self, width=1):
        at("__init__")
        if width == 2: at("chosen")
        self.width = width
    def get_params(self):
        at("get_params")
        return dict(width=self.width)
    def _check_params(self): at("_check_params")
    def cost(self, n_inputs, **counts):
        at("cost")
        return Cost()
    def fit_points(self): pass
    def fit(self, X, y, X_unlabeled):
        at("fit")
        return self
    def decision_function(self, X): return X[:][:, 0]
"""


@pytest.fixture
def faking(toy, own_modules):
    """A function that writes a class that does something somewhere, and a config with it."""

    def write(way="pass", place="", grid=None, **changed):
        own_modules("faking", MODULE.format(way=way, place=place))
        solver = {"kind": "faking:Mine", "grid": {"width": [2, 3]} if grid is None else grid}
        return change_toy(toy, "faking.yaml", solvers={"mine": solver}, **changed).parent

    return write


@pytest.fixture
def planned(faking, own_modules, monkeypatch, capsys):
    """The same, planned by the command line: its exit code, output and errors."""

    def run(way, place, module=""):
        faking(way, place)
        if module:
            own_modules("faking", module)
        arguments = ["dsg", "run", "faking.yaml", "--timeout", "0.5", "--dry-run"]
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, *capsys.readouterr()

    return run


CASES = [*zip(WAYS, itertools.cycle(PLACES), strict=False)]  # each way, and each place


@pytest.mark.parametrize(("way", "place"), CASES)
def test_whatever_a_class_does_planning_ends_in_one_line(planned, way, place):
    code, out, err = planned(way, place)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert PLACES[place] in err
    assert WAYS[way] in err


def test_a_class_that_ends_the_planning_of_its_config_leaves_the_others(faking):
    folder = faking("os._exit(0)", "cost")
    code, out, err = dsg_here(folder, "run", "faking.yaml", "toy.yaml", "--dry-run")
    assert (code, err.count("\n")) == (1, 1)
    assert "planning faking:Mine ends the process, with exit code 0" in err
    assert out.startswith("toy: ")


def test_only_one_process_plans_where_a_class_forks(planned):
    code, out, err = planned("os.fork()", "import")
    assert (code, err) == (0, "")
    assert out.count("faking: 8 cells") == 1


@pytest.mark.parametrize("place", [*HANGS])
def test_planning_that_does_not_end_is_stopped_by_the_timeout(planned, monkeypatch, place):
    monkeypatch.setattr(rehearsal, "STARTING_SECONDS", 0.3)
    code, out, err = planned(HANGS[place], place)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert PLACES[place] in err and "stopped after 0.5 s of --timeout and 0.3 s more" in err


def test_without_a_timeout_a_fork_that_does_not_end_is_given_up(monkeypatch):
    monkeypatch.setattr(rehearsal, "STARTING_SECONDS", 0.3)
    with rehearsal.rehearsing(None):
        rehearsal.rehearse("waiting", lambda: time.sleep(60))
    with rehearsal.rehearsing(0.1), pytest.raises(ConfigError, match="waiting does not end"):
        rehearsal.rehearse("waiting", lambda: time.sleep(60))


def test_a_rehearsal_is_said_to_end_in_the_innermost_block_that_it_is_in():
    def end():
        with rehearsal.users_code("reading"):
            with rehearsal.users_code("opening"):
                pass
            os._exit(0)

    with rehearsal.rehearsing(None), pytest.raises(ConfigError, match="reading ends the process"):
        rehearsal.rehearse("loading", end)


def test_the_text_of_an_error_is_rehearsed_too():
    def fail():
        raise type("E", (Exception,), {"__str__": lambda _: os._exit(0)})

    with rehearsal.rehearsing(None), pytest.raises(ConfigError, match="reading ends the process"):
        rehearsal.rehearse("reading", fail)


ERROR = """
import os
from dsgkit.errors import DsgError
from dsgkit.system.signals import Interrupted
class E(BASE):
    METHOD
raise E()
"""
META = """
class Meta(type):
    def METHOD
class Mine(metaclass=Meta): pass
"""
MUTE = """
class Mute(__import__("dsgkit.errors").text.errors.DsgError):
    def __str__(self): 1 / 0
"""
WELL = MODULE.format(place="", way="pass")


def error(base, method):
    return ERROR.replace("BASE", base).replace("METHOD", method)


BY_THEMSELVES = {
    error("Exception", "def __str__(self): raise SystemExit(0)"): "raises E (fak",
    error("Exception", "def __str__(self): os._exit(0)"): "ends the process",
    error("DsgError", "def __str__(self): return 5"): "importing 'faking' raises E",
    error("SyntaxError", "msg = property(lambda self: 1 / 0)"): "raises E (fak",
    error("Interrupted", "def __init__(self): self.exit_code = 0"): "raises E (",
    error("Exception", "__class__ = property(lambda self: os._exit(0))"): "ends the",
    "raise __import__('dsgkit').system.signals.Interrupted(2)": "raises Interrupted: interrupted",
    "raise SyntaxError": "importing 'faking' raises SyntaxError (faking.py:1)",
    "def __getattr__(name): raise SystemExit(0)": "faking:Mine raises SystemExit: 0 (faking.py:1)",
    "def __getattr__(name): raise RuntimeError": "faking:Mine raises RuntimeError (faking.py:1)",
    "def __getattr__(name): __import__('os')._exit(0)": "faking:Mine ends the process",
    "import sys; sys.modules[__name__] = object()": "faking has no class or function 'Mine'",
    "__file__ = Mine = 5": "'Mine' in faking is not a class or function but an int",
    "Mine = type('', (), {})()": "'Mine' in faking.py is not a class or function but a ",
    META.replace("METHOD", "__getattribute__(c, name): raise SystemExit(0)"): "SystemExit",
    META.replace("METHOD", "__getattribute__(c, name): 1 / 0"): "raises ZeroDivisionError",
    META.replace("METHOD", "__hash__(c): __import__('os')._exit(0)"): "lacks fit",
    WELL.replace('("semi_supervised_auc",)', "([1], {})"): "must be a tuple of task names",
    WELL + "    __annotations__ = dict(width='no such thing(')": "Forward",
    WELL.replace("return Cost()", "raise Mute") + MUTE: "Mute (fak",
}
"""Modules that misbehave wherever anybody looks at what they define, and what is said of them."""


@pytest.mark.parametrize("number", range(len(BY_THEMSELVES)))
def test_whatever_a_module_holds_planning_ends_in_one_line(planned, number):
    module, told = [*BY_THEMSELVES.items()][number]
    code, out, err = planned("pass", "", module)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert told in err


FIT_ENDS = {
    "sys.exit(0)": "SystemExit: 0 (faking.py:",
    "raise_(KeyboardInterrupt)": "KeyboardInterrupt (faking.py:",
    "raise_(Odd)": "Odd (faking.py:",
    "raise_(type('Fine', (__import__('dsgkit').text.errors.FitError,), {'status': 1}))": "failed",
}


@pytest.mark.parametrize("way", [*FIT_ENDS])
def test_an_exit_in_a_fit_is_a_failure(faking, way):
    folder = faking(way, "fit", grid={}, outputs=["auc_table"])
    code, _, err = dsg_here(folder, "run", "faking.yaml")
    assert code == 1
    assert "4 cells failed" in err and FIT_ENDS[way] in " ".join(err.split())


AT_EXIT = """
import atexit, os, tempfile, time
{way}
folder = tempfile.TemporaryDirectory(prefix="of_faking_", dir=".")
atexit.register(open, "handled", "w")
"""
AT_EXIT_WAYS = ["atexit.register(os._exit, 0)", "atexit.register(time.sleep, 1000)"]
"""What keeps what was registered before it from being done."""


@pytest.mark.slow  # a process, which plans in a fork
@pytest.mark.parametrize("way", AT_EXIT_WAYS)
def test_the_exit_code_of_a_failure_stands_whatever_is_done_at_exit(faking, own_modules, way):
    folder = faking()
    own_modules("faking", AT_EXIT.format(way=way) + "raise RuntimeError")
    code, out, err = dsg(folder, "run", "faking.yaml", "--dry-run")
    assert (code, out) == (1, "")
    assert err.startswith("Error: ") and "importing 'faking' raises RuntimeError" in err
    assert (folder / "handled").exists()
    assert not [*folder.glob("of_faking_*")]


@pytest.fixture
def job(faking):
    """A fit of one's own class."""
    experiment = load_experiment(faking(grid={}) / "faking.yaml")
    dataset = load_dataset(experiment.dataset)
    cell = make_plan(experiment, dataset)[0]
    return Job(experiment, dataset.content_hash, 1, cell, {"width": 1}, Limits(), threads=1)


def wrong_records(job):
    """What a process could send in place of a record, from what a record says of its cell."""
    good = cells.ended_record(job, "ok", "")
    yield from (None, 1, "ok", [], {}, [good], np.zeros(3))
    for name in cells._IDENTITY:
        yield {k: v for k, v in good.items() if k != name}
        yield from (good | {name: wrong} for wrong in (None, "", -1, [], {}, {"x": 1}, np.ones(2)))


def test_a_record_of_another_cell_is_a_failure_of_the_one_that_was_run(job):
    good = cells.ended_record(job, "ok", "")
    assert cells.record_of(job, good) is good
    wrong = list(wrong_records(job))
    assert len(wrong) == 47
    for sent in wrong:
        record = cells.record_of(job, sent)
        assert (record["status"], record["key"]) == ("failed", job.cell.key)
        assert "not a record of this cell" in record["message"]


class Trap:
    """Unpickled, it would end the process."""

    def __reduce__(self):
        return os._exit, (0,)


class Word(enum.StrEnum):
    """A member is a text, and of a class that would be imported."""

    ONE = "one"


ARRAYS = {
    "a": np.arange(3),
    "b": np.float32(2.5),
    "c": np.array(["x"]),
    "d": np.asfortranarray([[1]]),
}


@pytest.mark.parametrize(
    "sent",
    [
        *(pickle.dumps(value) for value in (Trap(), Word.ONE, np.sum, signal.SIGKILL)),
        *(pickle.dumps((1, "ended", {"x": value})) for value in (Trap(), range(3), print)),
        b"",
        b"no pickle",
        pickle.dumps(1)[:-1],
        b"\x80\x04" + b"(" * 100_000,
    ],
)
def test_only_plain_values_and_arrays_are_made_of_what_comes(sent):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours)
        stream = theirs.makefile("rwb")
        write_message(stream, ARRAYS)
        channel.exchange()
        (there,) = channel.messages()
        assert all(np.array_equal(there[name], ARRAYS[name]) for name in ARRAYS)
        stream.write(struct.pack("!Q", len(sent)) + sent)
        stream.flush()
        channel.exchange()
        with pytest.raises(MessageError):
            list(channel.messages())
        stream.close()


def test_a_length_beyond_all_messages_is_not_waited_for():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours)
        theirs.sendall(struct.pack("!Q", 2**62))
        channel.exchange()
        with pytest.raises(MessageError, match="4,611,686,018,427,387,904 bytes"):
            list(channel.messages())


def test_the_clock_starts_again_once_at_each_stage(job, monkeypatch):
    """A solver can say what it reaches as often as it likes, and in words of its own."""
    worker = object.__new__(workers._Worker)
    worker._number = 0
    worker.channel = SimpleNamespace(send=lambda _: None)
    worker._process = SimpleNamespace(poll=lambda: None)
    monkeypatch.setattr(workers.time, "monotonic", itertools.count().__next__)
    worker.start(replace(job, limits=Limits(timeout=10.0), data_bytes=workers.LOADING_RATE))
    deadlines = [worker._deadline]
    for stage in ("loaded", "loaded", "begun", "begun", "loaded", "more"):
        worker._reach(stage)
        deadlines.append(worker._deadline)
    loading, first, second = (
        0 + 10 + workers.STARTING_SECONDS + 1,
        1 + 10 + workers.COMPILING_SECONDS,
        2 + 10,
    )
    assert deadlines == [loading, first, first, second, second, second, second]


def test_a_message_that_is_cut_short_is_the_end_of_the_connection():
    """Also where the other end was killed with something unread, which resets the connection."""
    whole = struct.pack("!Q", 100) + b"half of it"
    for sent in (b"", whole[:3], whole, None):
        ours, theirs = socket.socketpair()
        with theirs:
            if sent is None:
                theirs.sendall(b"unread")
            else:
                ours.sendall(sent)
            ours.close()
            with theirs.makefile("rwb") as stream, pytest.raises(EOFError):
                read_message(stream)


ORPHAN = """
import socket
from dsgkit.experiment.workers import _Sender
ours, theirs = socket.socketpair()
ours.close()
_Sender(theirs.makefile("rwb"), 1, __import__("os").getpid())("progress", 0.5)
print("goes on")
"""


def test_a_worker_whose_run_was_killed_ends_without_a_word():
    done = subprocess.run([sys.executable, "-c", ORPHAN], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_a_member_of_an_enumeration_is_stored_as_what_it_equals():
    stored = cells._storable([Word.ONE, signal.SIGKILL, True, np.float64(0.5), None, float("nan")])
    assert stored == ["one", 9, True, 0.5, None, "nan"]
    assert [type(value) for value in stored[:4]] == [str, int, bool, float]


SENDS = {
    "os.fork()": ("ok", ""),
    "os.fork() and os._exit(0)": ("crashed", "worker process ended by itself with exit code 0"),
    "os.write(int(sys.argv[1]), 99 * b'x')": (
        "crashed",
        "worker process sent something that is not a record",
    ),
}
"""What is done in a fit in a worker, and how that ends."""


@pytest.mark.slow  # worker processes
def test_what_a_worker_sends_is_believed_once_and_of_its_own_cell(faking, job):
    """A fit that forks returns twice, in the warm-up and in the fit itself."""
    with LocalWorkers(1) as one:
        for way, (status, message) in SENDS.items():
            faking(way, "fit", grid={})
            for _ in range(2 if status == "ok" else 1):
                one.submit(job)
                ((ended, record),) = one.wait()
                assert ended is job and cells.record_of(job, record) is record
                assert (record["status"], record["message"][: len(message)]) == (status, message)
            one.stop()  # the next one imports the module again
