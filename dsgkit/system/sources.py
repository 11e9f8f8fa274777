"""Source files that a module depends on, and a hash of their code.

The hash is of structure, not of text. It does not depend on comments, docstrings, annotations of
functions, ``__all__``, the order of definitions in a module and of methods in a class, or the file
that contains a definition. Imports of other libraries count; imports of the files themselves count
only if they rename something.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
import secrets
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dsgkit.system.files import open_regular

PACKAGE = Path(__file__).parent.parent

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of AST nodes that contain lists of statements, exception handlers or match cases."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Errors of the parser for files that are not Python or too deeply nested: their bytes are
hashed."""

_MAX_SUMMARY_BYTES = 2**24


class _Summary(NamedTuple):
    """Imports and definitions of a module.

    Attributes
    ----------
    names : list of (str, list of str)
        Imported modules (relative ones with dots), each with the names imported from it.
    imports : list of str
        Imports of libraries, as code.
    definitions : list of str
        Hashes of the other statements.
    """

    names: list[tuple[str, list[str]]]
    imports: list[str]
    definitions: list[str]


@dataclass(frozen=True)
class Module:
    """A module by its full name, and its file."""

    name: str
    path: Path

    @property
    def root(self) -> Path:
        """Folder that contains its top-level package, or the module itself."""
        return self.path.parents[self.name.count(".") + self._is_package]

    @property
    def package(self) -> str:
        """Package that its relative imports start from."""
        return self.name if self._is_package else self.name.rpartition(".")[0]

    @property
    def ours(self) -> bool:
        """Whether it is a module of this package."""
        return self.path.is_relative_to(PACKAGE)

    @property
    def _is_package(self) -> bool:
        return self.path.stem == "__init__"


def is_ours(name: str) -> bool:
    """Return whether a module, or an import path ``module:attribute``, is of this package."""
    return name.partition(":")[0].partition(".")[0] == PACKAGE.name


def module_named(name: str, root: Path = PACKAGE.parent) -> Module | None:
    """Return a module by its full name; None if it has no file below a folder."""
    stem = root.joinpath(*name.split("."))
    paths = (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")
    return next((Module(name, path) for path in paths if path.is_file()), None)


def imported(start: Iterable[Module], *, package: bool = True) -> list[Module]:
    """Return modules and all that they import from the same folder, directly or indirectly.

    Parameters
    ----------
    start : iterable of Module
    package : bool
        Whether modules of this package count, too. These import nothing from a user's folder.
    """
    modules = (module for module, _ in _walk(start, package))
    return sorted(modules, key=lambda module: module.path)


def code_hash(start: Iterable[Module], *, package: bool = True) -> str:
    """Return a hash of the code of modules and of their imports (see `imported`)."""
    imports: set[str] = set()
    definitions: list[str] = []
    for _, summary in _walk(start, package):
        imports.update(summary.imports)
        definitions += summary.definitions
    return _hash("\n".join([*sorted(imports), *sorted(definitions)]).encode())[:16]


def cache_folder() -> Path:
    """Return the folder for files derived from sources, such as compiled code."""
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "dsgkit"


def _walk(start: Iterable[Module], package: bool) -> Iterator[tuple[Module, _Summary]]:
    """Yield the modules of `imported` with their summaries, unordered."""
    seen: set[Path] = set()
    left = list(start)
    while left:
        module = left.pop()
        if module.path not in seen and (package or not module.ours):
            seen.add(module.path)
            summary, imports = (_read_of_ours if module.ours else _read)(module)
            left += imports
            yield module, summary


def _read(module: Module) -> tuple[_Summary, list[Module]]:
    """Return the summary of a module, and the modules that it imports from the same folder."""
    make = _kept_summary if module.ours else _summary
    summary = make(module.path.read_bytes(), functools.partial(_is_beside, module=module))
    return summary, list(_imports_of(module, summary))


@functools.cache
def _read_of_ours(module: Module) -> tuple[_Summary, list[Module]]:
    """Return the same for a module of this package; later changes of its file are ignored."""
    return _read(module)


def _imports_of(module: Module, summary: _Summary) -> Iterator[Module]:
    for name, members in summary.names:
        if _is_beside(name, module):
            full = _absolute(name, module)
            inner = [_found(f"{full}.{member}", module) for member in members]
            yield from filter(None, inner)
            if not members or None in inner:
                yield from filter(None, [_found(full, module)])


def _is_beside(name: str, module: Module) -> bool:
    """Return whether an imported module is in the importing module's folder or this package."""
    top = name.partition(".")[0]
    if not top or is_ours(name):  # no top: a relative import
        return True
    if module.ours:
        return False
    return (module.root / top).is_dir() or (module.root / f"{top}.py").is_file()


def _absolute(name: str, module: Module) -> str:
    """Return the full name of a module that another one imports, perhaps relatively."""
    inner = name.lstrip(".")
    levels = len(name) - len(inner)
    if not levels:
        return name
    parents = module.package.split(".")
    return ".".join(filter(None, [*parents[: len(parents) - levels + 1], inner]))


def _found(name: str, module: Module) -> Module | None:
    return module_named(name, PACKAGE.parent if is_ours(name) else module.root)


def _kept_summary(content: bytes, is_beside: Callable[[str], bool]) -> _Summary:
    """Return the summary of a module of this package, cached on disk.

    Parsing the modules that a solver depends on takes 0.3 s, and every worker needs them.
    """
    path = cache_folder() / "sources" / _hash(_maker() + content)[:32]
    with suppress(OSError), open_regular(path) as file:
        body, _, check = file.read(_MAX_SUMMARY_BYTES).rpartition(b"\n")
        if check.decode(errors="replace") == _hash(body):
            return _Summary(*json.loads(body))
    summary = _summary(content, is_beside)
    body = json.dumps(summary).encode()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
        temporary.write_bytes(body + b"\n" + _hash(body).encode())
        temporary.replace(path)
    return summary


@functools.cache
def _maker() -> bytes:
    """Return bytes that a summary depends on in addition to the module's."""
    return str(sys.version_info[:2]).encode() + Path(__file__).read_bytes()


def _summary(content: bytes, is_beside: Callable[[str], bool]) -> _Summary:
    """Return the summary of a module.

    Parameters
    ----------
    content : bytes
    is_beside : callable
        Returns, given its name, whether an imported module is not a library's.
    """
    summary = _Summary([], [], [])
    try:
        statements = _parsed(content)
        summary.names.extend(_names(statements))
        siblings = {name for name, _ in summary.names if is_beside(name)}
        for node in _tidied(statements, siblings):
            if isinstance(node, ast.Import | ast.ImportFrom):
                summary.imports.append(ast.unparse(node))
            else:
                summary.definitions.append(_hash(ast.unparse(node).encode(errors="replace")))
    except _UNREADABLE:
        return _Summary(summary.names, [], [_hash(content)])
    return summary


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _parsed(content: bytes) -> list[ast.stmt]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SyntaxWarnings are shown when the code is imported
        return ast.parse(content).body


def _names(statements: Iterable[Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield imported modules, each with the names imported from it."""
    for node in _statements(statements):
        if isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            yield name, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                yield from ((".".join(parts[: n + 1]), []) for n in range(len(parts)))


def _statements(nodes: Iterable[Any]) -> Iterator[Any]:
    """Yield statements and their nested ones, without ``if TYPE_CHECKING`` blocks."""
    for node in nodes:
        yield node
        for field, inner in _blocks(node):
            if not (field == "body" and _is_for_types(node)):
                yield from _statements(inner)


def _blocks(node: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the nested lists of statements, handlers and cases of a statement."""
    for field in _BLOCKS:
        inner = getattr(node, field, None)
        if isinstance(inner, list):
            yield field, inner


def _is_for_types(node: Any) -> bool:
    """Return whether a statement is ``if TYPE_CHECKING``."""
    test = getattr(node, "test", None)
    name = getattr(test, "id", None) or getattr(test, "attr", None)
    return isinstance(node, ast.If) and name == "TYPE_CHECKING"


def _tidied(nodes: Iterable[Any], siblings: set[str]) -> list[Any]:
    """Return statements without the parts that do not affect results."""
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


def _tidied_import(node: ast.Import | ast.ImportFrom, siblings: set[str]) -> list[Any]:
    """Split an import of libraries into one per name; of a sibling's, keep only renamed names."""
    if isinstance(node, ast.Import):
        return [ast.Import([name]) for name in node.names if name.name not in siblings]
    if node.module == "__future__":
        return []
    if "." * node.level + (node.module or "") not in siblings:
        return [ast.ImportFrom(node.module, [name], 0) for name in node.names]
    renamed = [name for name in node.names if name.asname not in (None, name.name)]
    return [ast.ImportFrom(None, [name], 1) for name in renamed]


def _is_text(node: Any) -> bool:
    """Return whether a statement is only a text, such as a docstring."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_list_of_names(node: Any) -> bool:
    """Return whether a statement sets ``__all__``."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def _drop_annotations(function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    function.returns = None
    spec = function.args
    for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg):
        if arg is not None:
            arg.annotation = None


def _in_order(body: list[Any]) -> list[Any]:
    """Return the body of a class with its methods at the end, sorted by name."""
    methods = [node for node in body if isinstance(node, _FUNCTIONS)]
    others = [node for node in body if not isinstance(node, _FUNCTIONS)]
    return [*others, *sorted(methods, key=lambda method: method.name)]
