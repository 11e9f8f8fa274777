"""Reuse of results that other runs have computed for the same cells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dsgkit.experiment.artefacts import copy_artefact
from dsgkit.experiment.environment import ENVIRONMENTS, environment_name
from dsgkit.experiment.folder import MAX_FILE_BYTES, is_environment
from dsgkit.experiment.store import (
    CELLS,
    RESCUED,
    RefusedError,
    Store,
    find_records,
    own_folder,
    write_file,
)
from dsgkit.system.files import open_regular


def copy_records(store: Store, keys: set[str]) -> int:
    """Copy finished cells from the results folders next to a store's, and return their number.

    A cell's key is a hash of all that determines its result, so it does not matter which run
    computed it. Environments and artefacts are copied along. Rescued records of the folder itself
    come first.

    Parameters
    ----------
    store : Store
    keys : set of str
        Keys of the wanted cells; records in the store stay unchanged.
    """
    wanted = {key for key in keys if key not in store.records}
    copied = 0
    for path in sources(store.folder) if wanted else ():
        for record in find_records(path, wanted):
            if record["status"] == "ok" and copy_artefact(path.parent, store.folder, record):
                _copy_environment(path.parent, store.folder, record.get("environment"))
                with suppress(RefusedError):
                    store.append(record)
                    wanted.remove(record["key"])
                    copied += 1
        if not wanted:
            break
    return copied


def sources(folder: Path) -> Iterator[Path]:
    """Yield the files that may contain records for a folder."""
    folder = folder.absolute()
    yield from sorted(folder.glob(f"{RESCUED}-*.jsonl"))
    for path in sorted(folder.parent.glob(f"*/{CELLS}")):
        if path.parent != folder:
            yield path


def _copy_environment(source: Path, target: Path, name: str | None) -> None:
    """Copy a record's environment, if its file exists and matches the hash in its name."""
    if name is None or source == target:
        return
    path = source / ENVIRONMENTS / f"{name}.json"
    with suppress(OSError), open_regular(path, follow=False) as file:
        content = file.read(MAX_FILE_BYTES)
        if environment_name(content) == name and is_environment(content):
            write_file(own_folder(target, ENVIRONMENTS) / path.name, content.decode())
