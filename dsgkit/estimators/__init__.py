"""Estimators: one file per family."""
