"""Numerics of no particular method: linear systems, quadratic programs, rows in blocks, costs."""
