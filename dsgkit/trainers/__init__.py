"""Trainers: how the minimiser of an objective is found, whatever the objective is."""
