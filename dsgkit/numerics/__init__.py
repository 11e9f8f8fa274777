"""Numerics that know no method: linear systems, quadratic programs, rows in blocks, costs."""
