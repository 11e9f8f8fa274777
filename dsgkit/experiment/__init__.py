"""Experiments: the plan of cells, their execution, the results store and selection."""
