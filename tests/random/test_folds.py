import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.seeds import stratified_folds


@given(st.lists(st.integers(1, 5), min_size=6, max_size=40), st.integers(2, 6), st.integers(0, 99))
def test_every_position_is_in_one_fold_and_classes_are_shared_out(labels, n_folds, seed):
    y = np.array(labels)
    folds = stratified_folds(y, n_folds, seed)
    assert sorted(np.concatenate(folds)) == list(range(len(y)))
    sizes = [len(fold) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    for label in set(labels):
        counts = [np.count_nonzero(y[fold] == label) for fold in folds]
        assert max(counts) - min(counts) <= 1
