"""Source files that a module depends on, and a hash of their code.

The hash is of structure, not of text. These do not change it: comments, docstrings, annotations of
functions, ``__all__``, the order of definitions in a module and of methods in a class, and which of
the files a definition is in. Imports of other libraries count; those of the files themselves do
not, except for names that they rename.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of statements, and of their parts, that hold statements, or such parts."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser raises of files that are no Python, or too deep for it: their bytes count."""


@dataclass(frozen=True)
class Module:
    """A module by its full name, and its file."""

    name: str
    path: Path

    @property
    def root(self) -> Path:
        """Folder in which its top-level package lies, or else the module itself."""
        return self.path.parents[self.name.count(".") + self._is_package]

    @property
    def package(self) -> str:
        """Name that its relative imports start from."""
        return self.name if self._is_package else self.name.rpartition(".")[0]

    @property
    def ours(self) -> bool:
        """Whether it is a module of this package."""
        return self.path.is_relative_to(PACKAGE)

    @property
    def _is_package(self) -> bool:
        return self.path.stem == "__init__"

    def read(self) -> bytes:
        """Return its source: a file of this package as it was when it was first read."""
        return _read_once(self.path) if self.ours else self.path.read_bytes()


def is_ours(name: str) -> bool:
    """Tell whether the name of a module, or a path to something in it, is of this package."""
    return name.partition(":")[0].partition(".")[0] == PACKAGE.name


def module_named(name: str, root: Path = PACKAGE.parent) -> Module | None:
    """Return a module by its full name, if its file lies below a folder."""
    stem = root.joinpath(*name.split("."))
    paths = (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")
    return next((Module(name, path) for path in paths if path.is_file()), None)


def imported(start: Iterable[Module], *, package: bool = True) -> list[Module]:
    """Return modules and all that they import from beside them, and that these import.

    Parameters
    ----------
    start : iterable of Module
    package : bool
        Whether modules of this package count, too. These import nothing that is beside them.
    """
    return sorted(_walk(start, package), key=lambda module: module.path)


def code_hash(start: Iterable[Module], *, package: bool = True) -> str:
    """Return a hash of the code of modules, and of all that `imported` finds of them."""
    imports: set[str] = set()
    definitions: list[str] = []
    for module in _walk(start, package):
        of_libraries, defined = _code_of(module)
        imports.update(of_libraries)
        definitions += defined
    text = "\n".join([*sorted(imports), *sorted(definitions)])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


@functools.cache
def _read_once(path: Path) -> bytes:
    return path.read_bytes()


def _walk(start: Iterable[Module], package: bool) -> Iterator[Module]:
    """Yield what `imported` returns, each as soon as it is parsed."""
    found: set[Path] = set()
    left = list(start)
    while left:
        module = left.pop()
        if module.path not in found and (package or not module.ours):
            found.add(module.path)
            left += _imports_of_ours(module) if module.ours else _imports_of(module)
            yield module


def _code_of(module: Module) -> tuple[list[str], list[str]]:
    content = module.read()
    siblings = frozenset(name for name, _ in _names(content) if _is_beside(name, module))
    return _structure(content, siblings)


@functools.cache
def _imports_of_ours(module: Module) -> list[Module]:
    return list(_imports_of(module))


def _imports_of(module: Module) -> Iterator[Module]:
    """Yield the modules that one imports from beside it."""
    for name, members in _names(module.read()):
        if _is_beside(name, module):
            full = _absolute(name, module)
            inner = [_found(f"{full}.{member}", module) for member in members]
            yield from filter(None, inner)
            if not members or None in inner:
                yield from filter(None, [_found(full, module)])


def _is_beside(name: str, module: Module) -> bool:
    """Tell whether what a module imports lies beside it, or in this package."""
    top = name.partition(".")[0]
    if not top or is_ours(name):  # no top: a relative import
        return True
    if module.ours:
        return False
    return (module.root / top).is_dir() or (module.root / f"{top}.py").is_file()


def _absolute(name: str, module: Module) -> str:
    """Return the full name of what a module imports, perhaps by a relative one."""
    inner = name.lstrip(".")
    levels = len(name) - len(inner)
    if not levels:
        return name
    parents = module.package.split(".")
    return ".".join(filter(None, [*parents[: len(parents) - levels + 1], inner]))


def _found(name: str, module: Module) -> Module | None:
    return module_named(name, PACKAGE.parent if is_ours(name) else module.root)


@functools.cache
def _names(content: bytes) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what a module imports: names of modules, and what of each; relative ones with dots."""
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    with suppress(*_UNREADABLE):
        for node in _statements(_parsed(content)):
            if isinstance(node, ast.ImportFrom):
                name = "." * node.level + (node.module or "")
                found[name, tuple(alias.name for alias in node.names)] = None
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    parts = alias.name.split(".")
                    found |= {(".".join(parts[: n + 1]), ()): None for n in range(len(parts))}
    return tuple(found)


@functools.cache
def _structure(content: bytes, siblings: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return the imports of libraries and the definitions at the top of a module, each as code.

    Parameters
    ----------
    content : bytes
    siblings : frozenset of str
        Names of what it imports that do not count.
    """
    imports: list[str] = []
    definitions: list[str] = []
    try:
        for node in _tidied(_parsed(content), siblings):
            into = imports if isinstance(node, ast.Import | ast.ImportFrom) else definitions
            into.append(ast.unparse(node))
    except _UNREADABLE:
        return [], [hashlib.sha256(content).hexdigest()]
    finally:
        _parsed.cache_clear()  # it was changed
    return imports, definitions


@functools.lru_cache(maxsize=1)
def _parsed(content: bytes) -> list[ast.stmt]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about code that is run elsewhere
        return ast.parse(content).body


def _statements(nodes: Iterable[Any]) -> Iterator[Any]:
    """Yield all statements, those inside of others as well, that are there when code runs."""
    for node in nodes:
        yield node
        for field, inner in _blocks(node):
            if not (field == "body" and _is_for_types(node)):
                yield from _statements(inner)


def _blocks(node: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of statements, or of parts that hold some, of a statement."""
    for field in _BLOCKS:
        inner = getattr(node, field, None)
        if isinstance(inner, list):
            yield field, inner


def _is_for_types(node: Any) -> bool:
    """Tell whether a statement is ``if TYPE_CHECKING``."""
    test = getattr(node, "test", None)
    name = getattr(test, "id", None) or getattr(test, "attr", None)
    return isinstance(node, ast.If) and name == "TYPE_CHECKING"


def _tidied(nodes: Iterable[Any], siblings: frozenset[str]) -> list[Any]:
    """Return statements without what changes no result."""
    kept: list[Any] = []
    for node in nodes:
        if _is_for_types(node):
            kept += _tidied(node.orelse, siblings)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            kept += _tidied_import(node, siblings)
        elif not _is_text(node) and not _is_list_of_names(node):
            for _, inner in _blocks(node):
                inner[:] = _tidied(inner, siblings)
            if isinstance(node, _FUNCTIONS):
                _drop_annotations(node)
            elif isinstance(node, ast.ClassDef):
                node.body = _in_order(node.body)
            kept.append(node)
    return kept


def _tidied_import(node: ast.Import | ast.ImportFrom, siblings: frozenset[str]) -> list[Any]:
    """Return an import of libraries as one of each name; of a sibling, what it renames."""
    if isinstance(node, ast.Import):
        return [ast.Import([name]) for name in node.names if name.name not in siblings]
    if node.module == "__future__":
        return []
    if "." * node.level + (node.module or "") not in siblings:
        return [ast.ImportFrom(node.module, [name], 0) for name in node.names]
    renamed = [name for name in node.names if name.asname not in (None, name.name)]
    return [ast.ImportFrom(None, [name], 1) for name in renamed]


def _is_text(node: Any) -> bool:
    """Tell whether a statement is a text alone, such as a docstring."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_list_of_names(node: Any) -> bool:
    """Tell whether a statement sets ``__all__``."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def _drop_annotations(function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    function.returns = None
    spec = function.args
    for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg):
        if one is not None:
            one.annotation = None


def _in_order(body: list[Any]) -> list[Any]:
    """Return the body of a class with its methods at the end, sorted by their names."""
    methods = [node for node in body if isinstance(node, _FUNCTIONS)]
    others = [node for node in body if not isinstance(node, _FUNCTIONS)]
    return [*others, *sorted(methods, key=lambda method: method.name)]
