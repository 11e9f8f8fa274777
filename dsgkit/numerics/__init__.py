"""General numerics: linear systems, quadratic programs, rows in blocks, costs."""
