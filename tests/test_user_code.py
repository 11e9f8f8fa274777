"""User-defined classes: how they are found, what is said of their mistakes, and their versions."""

import hashlib
import importlib
import sys
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression

from dsgkit import bases
from dsgkit.errors import ConfigError, DataError, place_of
from dsgkit.user_code import calling, import_path_of, load, version_of


def load_class(import_path):
    return load(import_path, "class", lambda value: isinstance(value, type), "my_module:MySolver")


IMPORTS = {
    "..:os": ("", "'..:os' is not an import path, such as my_module:MySolver"),
    "myy:A": ("", "module 'myy' is neither on sys.path nor in HERE (did you mean 'my'?)"),
    "my:A": (
        "import gone",
        "importing 'my' raises ModuleNotFoundError: No module named 'gone' (my.py:1)",
    ),
    "my:B": ("x = (", "importing 'my' raises SyntaxError: '(' was never closed (my.py:1)"),
    "my:C": ("import sys\nsys.exit(3)", "importing 'my' raises SystemExit: 3 (my.py:2)"),
    "my:D": ("D = 3", "my:D is not a class: 3"),
    "my:E": (
        "class F: pass\nfrom json import JSONDecoder",
        "module 'my' has no class 'E'; known: F",
    ),
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


A = "class A: pass\n"
FILES = {"other": "from helper import width\n", "pack.__init__": ""}
FILES |= {"pack.part": "from . import deep\n", "pack.deep": "import helper\n"}


@pytest.mark.parametrize(
    ("line", "is_imported"),
    [
        ("def f():\n    import helper\n", True),
        ("import other\n", True),
        ("from pack import part\n", True),
        ("import json\n", False),
    ],
)
def test_a_version_depends_on_the_files_that_the_class_imports(own_modules, line, is_imported):
    def version(width, text=line + A, *loaded):
        for name, content in {**FILES, "my": text, "helper": f"width = {width}\n"}.items():
            own_modules(name, content)
        for name in loaded:
            importlib.import_module(name)
        return version_of(load_class("my:A"))

    before = version(1)
    assert version(1, line + A, "other", "pack.part") == before
    assert (version(2) != before) == is_imported
    assert version(1, line + A + "# edited\n") != before


def test_a_class_may_state_its_version_and_that_of_a_librarys_is_a_hash_of_its_file(own_modules):
    own_modules(
        "my",
        "from dsgkit import bases\nclass A: version = 3\nclass B(A): pass\n"
        "class C(bases.PairwiseAUCEstimator): pass\nclass D: version = 1.5\n",
    )
    assert [version_of(load_class(f"my:{name}")) for name in "AB"] == [3, 3]
    assert isinstance(version_of(load_class("my:C")), str)  # not that of its base
    with pytest.raises(ConfigError, match=r"D.version must be a whole number or text, got 1\.5"):
        version_of(load_class("my:D"))
    with pytest.raises(ConfigError, match="Made has no source file"):
        version_of(type("Made", (), {"__module__": "__nowhere__"}))
    content = Path(sys.modules[LogisticRegression.__module__].__file__).read_bytes()
    assert version_of(LogisticRegression) == hashlib.sha256(content).hexdigest()[:16]
