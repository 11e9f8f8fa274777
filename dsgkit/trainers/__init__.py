"""Trainers: algorithms that minimise objectives."""
