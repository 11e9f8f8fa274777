"""User-defined classes: how they are found, what is said of their mistakes, and their versions."""

import hashlib
import importlib
import pickle
import sys
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression

from dsgkit import bases, errors
from dsgkit.errors import ConfigError, DataError, nearest_or_all, shown, spelled
from dsgkit.user_code import calling, import_path_of, load, place_of, version_of


def load_class(import_path):
    return load(import_path, "class", lambda value: isinstance(value, type), "my_module:MySolver")


RAISES = "importing 'my' raises"
IMPORTS = {
    "..:os": ("", "'..:os' is not an import path, such as my_module:MySolver"),
    "myy:A": ("", "module 'myy' is neither on sys.path nor in HERE (did you mean 'my'?)"),
    "my:A": ("import a.b", f"{RAISES} ModuleNotFoundError: No module named 'a' (my.py:1)"),
    "my:B": ("x = (", f"{RAISES} SyntaxError: '(' was never closed (my.py:1)"),
    "my:C": ("import sys\nsys.exit(3)", f"{RAISES} SystemExit: 3 (my.py:2)"),
    "my:D": ("D = 3", "my:D is not a class: 3"),
    "my:E": ("class F: pass\nfrom os import _Environ", "module 'my' has no class 'E'; known: F"),
}


@pytest.mark.parametrize("import_path", IMPORTS)
def test_what_cannot_be_imported_is_one_line_with_its_place(own_modules, tmp_path, import_path):
    text, message = IMPORTS[import_path]
    own_modules("my", text)
    with pytest.raises(ConfigError) as error:
        load_class(import_path)
    assert str(error.value).replace(str(tmp_path), "HERE") == message


def test_errors_of_user_code_have_their_place_and_cause(own_modules):
    text = "import json\nclass A:\n    def read(self):\n        return json.loads('{')\n"
    own_modules("my", text)
    cls = load_class(import_path_of("my.py:A"))
    assert place_of(cls.read) == " (my.py:3)"
    assert place_of(LogisticRegression) == place_of(bases.Estimator) == place_of(len) == ""
    with pytest.raises(ConfigError, match=r"^A\.read raises JSON.+\(my\.py:4\); mend it$") as error:  # noqa: SIM117
        with calling("A.read", "mend it"):
            cls().read()
    assert isinstance(error.value.__cause__, ValueError)
    with pytest.raises(DataError, match=r"^mine$"), calling("A.read"):
        raise DataError("mine")


A = "\nclass A: pass\n"
FILES = {"other": "from helper import width\n", "pack.__init__": ""}
FILES |= {"pack.part": "from . import deep\n", "pack.deep": "import helper\n"}
LINES = "def f():\n    import helper", "import other", "from pack import part", "import json"


@pytest.mark.parametrize("line", LINES)
def test_a_version_depends_on_the_files_that_the_class_imports(own_modules, line):
    def version(width, text, *loaded):
        for name, content in {**FILES, "my": text, "helper": f"width = {width}\n"}.items():
            own_modules(name, content)
        for name in loaded:
            importlib.import_module(name)
        return version_of(load_class("my:A"))

    before = version(1, line + A)
    assert version(1, line + A, "other", "pack.part") == before
    assert (version(2, line + A) != before) == (line != LINES[-1])
    assert version(1, line + A + "# edited\n") != before


def test_a_class_may_state_its_version_and_that_of_a_librarys_is_a_hash_of_its_file(own_modules):
    own_modules(
        "my",
        "from dsgkit import bases\nclass A: version = 3\nclass B(A): pass\n"
        "class C(bases.PairwiseAUCEstimator): pass\nclass D: version = True\n",
    )
    assert version_of(load_class("my:B")) == 3
    assert isinstance(version_of(load_class("my:C")), str)  # not that of its base
    with pytest.raises(ConfigError, match=r"D\.version must be a whole number or text, got true"):
        version_of(load_class("my:D"))
    with pytest.raises(ConfigError, match="Made has no source file"):
        version_of(type("Made", (), {"__module__": "__nowhere__"}))
    content = Path(sys.modules[LogisticRegression.__module__].__file__).read_bytes()
    assert version_of(LogisticRegression) == hashlib.sha256(content).hexdigest()[:16]


def test_values_are_in_one_short_printable_line_and_a_memory_limit_crosses_processes():
    raising = type("Raising", (), {"__repr__": lambda self: self.missing})()
    values = "a\n\x1b\ud800", b"x" * 10**6, 10**5000, raising, [1]
    expected = r"'a\n\x1b\ud800'", f"b'{'x' * 75}...", "<int>", "<Raising>", "[1]"
    assert tuple(map(shown, values)) == expected
    assert shown("x" * 78) == f"'{'x' * 78}'" and shown("x" * 79) == f"'{'x' * 76}..."
    assert [spelled(value) for value in (None, True, 3, "a")] == ["null", "true", "3", "'a'"]
    error = pickle.loads(pickle.dumps(errors.MemoryLimitError(2**31, 2**26)))
    assert str(error) == "out of memory limit: needs 2.0 GiB, limit 0.06 GiB"
    assert (error.needed, error.limit) == (2**31, 2**26)


def test_a_hint_is_the_nearest_name_or_all_or_a_command_that_lists_them():
    many = [f"name_{i}" for i in range(100)]
    assert nearest_or_all("nome_4", iter(many)) == " (did you mean 'name_4'?)"
    assert nearest_or_all("xyz", ["trials", "folds"], "dsg x") == "; known: trials, folds"
    assert nearest_or_all("xyz", many, "dsg x") == "; `dsg x` lists all 100"
    assert nearest_or_all("xyz", []) == ""
