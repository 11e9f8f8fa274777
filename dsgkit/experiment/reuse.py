"""Results of other runs that answer the same questions."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dsgkit.experiment.artefacts import copy_artefact
from dsgkit.experiment.environment import ENVIRONMENTS
from dsgkit.experiment.store import CELLS, Store, find_records, write_file


def copy_records(store: Store, keys: set[str]) -> int:
    """Copy finished cells from the results folders beside a store's, and return how many.

    A cell's key is a hash of all that determines its result, so it does not matter which run made
    it. The environment that it was made in comes along, and so do artefacts.

    Parameters
    ----------
    store : Store
    keys : set of str
        The cells that are wanted; those with a record in the store stay as they are.
    """
    wanted = {key for key in keys if key not in store}
    copied = 0
    for path in sorted(store.folder.absolute().parent.glob(f"*/{CELLS}")):
        if not wanted:
            break
        if path.parent == store.folder.absolute():
            continue
        for key, record in find_records(path, wanted).items():
            if record["status"] == "ok" and copy_artefact(path.parent, store.folder, record):
                _copy_environment(path.parent, store.folder, record.get("environment"))
                store.append(record)
                wanted.remove(key)
                copied += 1
    return copied


def _copy_environment(source: Path, target: Path, name: str | None) -> None:
    with suppress(OSError):
        text = (source / ENVIRONMENTS / f"{name}.json").read_text()
        write_file(target / ENVIRONMENTS / f"{name}.json", text)
