"""Exact kernels: Gram matrices, expansions and columns."""
