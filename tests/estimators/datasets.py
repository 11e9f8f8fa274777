"""Datasets of scikit-learn as several test files use them: rows and classes."""

from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale


def iris():
    return load_iris(return_X_y=True)


def standardised_wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y
