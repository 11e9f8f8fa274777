"""What messages quote of a user's names and values."""

import pickle

import pytest

from dsgkit.errors import MemoryLimitError, nearest_or_all, shown, spelled


class Raising:
    def __repr__(self):
        raise RuntimeError("no")


def test_values_are_in_one_short_printable_line_and_a_memory_limit_crosses_processes():
    values = "a\n\x1b\ud800", b"x" * 10**6, 10**5000, Raising(), [1]
    expected = r"'a\n\x1b\ud800'", f"b'{'x' * 75}...", "<int>", "<Raising>", "[1]"
    assert tuple(map(shown, values)) == expected
    assert shown("x" * 78) == f"'{'x' * 78}'" and shown("x" * 79) == f"'{'x' * 76}..."
    assert [spelled(value) for value in (None, True, 3, "a")] == ["null", "true", "3", "'a'"]
    error = pickle.loads(pickle.dumps(MemoryLimitError(2**31, 2**26)))
    assert str(error) == "out of memory limit: needs 2.0 GiB, limit 0.06 GiB"
    assert (error.needed, error.limit) == (2**31, 2**26)


MANY = [f"name_{i}" for i in range(100)]


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("nome_4", iter(MANY), " (did you mean 'name_4'?)"),
        ("xyz", ["trials", "folds"], "; known: trials, folds"),
        ("xyz", MANY, "; `dsg list x` lists all 100"),
        ("xyz", [], ""),
    ],
)
def test_a_hint_is_the_nearest_name_or_all_or_a_command_that_lists_them(name, known, hint):
    assert nearest_or_all(name, known, "dsg list x") == hint
