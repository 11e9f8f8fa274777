"""The one place that spells numba's options.

`exact` functions must give the same bits on every machine (the random streams): no reassociation
and no contraction to fused multiply-adds. `fast` ones may contract, and `reducing_parallel` ones,
which sum over many terms, may also reorder. None may assume that values are finite: a diverging
model must show as NaN.
"""

from numba import njit, prange

exact = njit(cache=True, error_model="numpy")
exact_parallel = njit(cache=True, error_model="numpy", parallel=True)
fast = njit(cache=True, error_model="numpy", fastmath={"contract"})
reducing_parallel = njit(
    cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"}, parallel=True
)
fast_parallel = njit(cache=True, error_model="numpy", fastmath={"contract"}, parallel=True)

__all__ = ["exact", "exact_parallel", "fast", "fast_parallel", "prange", "reducing_parallel"]
