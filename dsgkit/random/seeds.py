"""Seeds and permutations that never change, so that a recorded run can be drawn again.

NumPy promises a stable stream for the raw output of its bit generators, but not for
``Generator.permutation`` and its like, which may change between releases. Only raw output is used
here.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray


def derive_seed(seed: int, *parts: str | int) -> int:
    """Return a seed of its own for the purpose that ``parts`` name.

    Parameters
    ----------
    seed : int
        Seed of the whole experiment.
    *parts : str or int
        What the draws are for, e.g. ``"labeled", trial``. The order counts, and so does the type:
        ``1`` and ``"1"`` are different parts.

    Returns
    -------
    int
        Between 0 and ``2**63 - 1``.
    """
    digest = hashlib.blake2b(b"".join(map(_encode, (seed, *parts))), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def _encode(part: str | int) -> bytes:
    """Write a part with its type and length, so that no two lists of parts read the same."""
    kind, text = ("s", part) if isinstance(part, str) else ("i", str(int(part)))
    payload = text.encode()
    return f"{kind}{len(payload)}:".encode() + payload


def permutation(n: int, seed: int) -> NDArray[np.int64]:
    """Return ``0 .. n-1`` in a random order that depends on ``n`` and ``seed`` alone.

    Parameters
    ----------
    n : int
        Number of elements.
    seed : int
        Not negative.

    Returns
    -------
    ndarray of int64, shape (n,)

    Notes
    -----
    The order that sorts ``n`` raw 64-bit words of PCG64: the words are guaranteed stable, and a
    stable sort leaves no freedom either, even for equal words (two of which have a chance below
    ``n**2 / 2**65``, so that the bias is negligible).
    """
    return np.argsort(np.random.PCG64(seed).random_raw(n), kind="stable").astype(
        np.int64, copy=False
    )
