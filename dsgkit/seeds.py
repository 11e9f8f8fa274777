"""Seeds, permutations and folds that never change, so that recorded runs can be reproduced.

NumPy guarantees a stable stream for the raw output of its bit generators, but not for
``Generator.permutation`` and similar methods. Only raw output is used here. Nothing is compiled:
plans and reports, which need seeds, start without numba.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

STREAM_VERSION = 1
"""Version of the bits and numbers of `dsgkit.random`: part of every result."""


def derive_seed(seed: int, *parts: str | int) -> int:
    """Return an independent seed for the purpose named by ``parts``.

    Order and type of the parts matter: ``1`` and ``"1"`` are different ones. The result is in
    0..2^63-1.
    """
    digest = hashlib.blake2b(b"".join(map(_encode, (seed, *parts))), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def _encode(part: str | int) -> bytes:
    """Encode a part with its type and length, so that no two lists of parts are encoded alike."""
    kind, text = ("s", part) if isinstance(part, str) else ("i", str(int(part)))
    payload = text.encode()
    return f"{kind}{len(payload)}:".encode() + payload


def permutation(n: int, seed: int) -> NDArray[np.int64]:
    """Return ``0 .. n-1`` in a random order that depends only on ``n`` and the seed, at least 0.

    It sorts ``n`` raw 64-bit words of PCG64. The words are guaranteed stable, and a stable sort
    fixes the order even of equal words (whose probability is below ``n**2 / 2**65``, so that the
    bias is negligible).
    """
    return np.argsort(np.random.PCG64(seed).random_raw(n), kind="stable").astype(
        np.int64, copy=False
    )


def stratified_folds(y: NDArray[Any], n_folds: int, seed: int) -> list[NDArray[np.int64]]:
    """Cut positions into folds of nearly equal size and nearly equal shares of each class.

    Returns the sorted positions of each fold; the labels may be of any number of classes.
    """
    order = permutation(len(y), seed)
    # rows are dealt to folds in turn, class by class: sizes and class counts differ by at most one
    dealt = np.concatenate([order[y[order] == label] for label in np.unique(y)[::-1]])
    return [np.sort(dealt[fold::n_folds]) for fold in range(n_folds)]
