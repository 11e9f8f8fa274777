"""Solvers of learning from similar pairs and unlabelled rows."""
