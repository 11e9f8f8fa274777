import locale
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from dsgkit.system.settings import kept_settings


def state():
    """Everything that is kept, as other functions than those that keep it tell it."""
    mask = os.umask(0)
    os.umask(mask)
    return {
        "errors": np.geterr(),
        "callback": np.geterrcall(),
        "buffer": np.getbufsize(),
        "printed": repr(np.array([1 / 3, 1e9])),
        "warned": [*warnings.filters],
        "show": warnings.showwarning,
        "locale": locale.setlocale(locale.LC_NUMERIC),
        "environment": dict(os.environ),
        "folder": Path.cwd(),
        "mask": mask,
    }


CHANGES = {
    "errors": lambda: np.seterr(all="raise"),
    "callback": lambda: np.seterrcall(print),
    "buffer": lambda: np.setbufsize(16 * 100),
    "printed": lambda: np.set_printoptions(precision=1, suppress=True),
    "warned": lambda: warnings.simplefilter("ignore"),
    "show": lambda: setattr(warnings, "showwarning", print),
    "locale": lambda: locale.setlocale(locale.LC_NUMERIC, "C.UTF-8"),
    "environment": lambda: (os.environ.pop("HOME"), os.environ.update(OMP_NUM_THREADS="1")),
    "folder": lambda: os.chdir("/"),
    "mask": lambda: os.umask(0o077),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("fails", [False, True])
def test_what_a_block_changes_is_as_before_it(what, fails, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    before = state()
    try:
        with kept_settings():
            CHANGES[what]()
            changed = state()
            if fails:
                raise KeyError
    except KeyError:
        pass
    assert [name for name in before if changed[name] != before[name]] == [what]
    assert state() == before
