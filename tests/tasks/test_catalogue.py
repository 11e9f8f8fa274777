"""Tasks by name, and those of a user's own: what is found and what is refused."""

import pytest

from dsgkit.errors import ConfigError
from dsgkit.tasks.catalogue import TASKS, get, version

OWN = """
from dsgkit.tasks.base import ProtocolSpec
from dsgkit.tasks.measures import Measure

class Sorting:
    Spec = ProtocolSpec
    axes = ()
    measures = (
        Measure(
            name="swaps", title="Swaps", word="swaps", better="lower", output="swaps", file="swaps"
        ),
    )
    chooses = "swaps"
    outputs = ("swaps_table",)
    words = ()

    def trial(self, dataset, spec, seed):
        pass

SORTING = Sorting()
"""


@pytest.mark.parametrize("kind", TASKS)
def test_every_task_goes_by_its_kind(kind):
    assert get(kind).kind == kind
    assert version(kind) == (2 if kind == "semi_supervised_svm" else 1)


def test_a_task_of_ones_own_is_found_with_the_version_of_its_code(own_modules):
    own_modules("my", OWN)
    assert get("my:SORTING").chooses == "swaps"
    before = version("my:SORTING")
    own_modules("my", OWN + "# edited\n")
    assert version("my:SORTING") == before
    own_modules("my", OWN + "EDITED = True\n")
    assert version("my:SORTING") != before
    own_modules("my", OWN.replace("words = ()", "words, version = (), 3"))
    assert version("my:SORTING") == 3


def test_a_task_of_a_class_in_another_file_has_the_version_of_both(own_modules):
    def edited(settings, words):
        own_modules("base", OWN.replace("words = ()", f"words = {words}"))
        own_modules("my", f"from base import Sorting\nSETTINGS = {settings}\nMINE = Sorting()\n")
        return version("my:MINE")

    assert len({edited(1, ()), edited(2, ()), edited(1, ("word",))}) == 3


NAMES = [
    ("semi_supervised_auk", "unknown task 'semi_supervised_auk' (did you mean 'semi_sup"),
    ("my:", "'my:' is not an import path, such as my_module:MY_TASK"),
    ("my:SORTIN", "my.py has no task 'SORTIN' (did you mean 'SORTING'?)"),
    ("my:Sorting", "'Sorting' in my.py is not a task but a class"),
]
NO_SETTING = "class Spec(ProtocolSpec):\n        only_for_judging = ('trails',)"
NO_TUPLE = "class Spec(ProtocolSpec):\n        only_for_search = 'trials'"
CHANGES = [
    ("axes = ()", "", "my:SORTING lacks axes; see dsgkit.tasks.base.Task"),
    ("axes = ()", "axes = ['x']", "my:SORTING.axes must be a tuple of Axis, got"),
    ("axes = ()", "axes = 1 / 0", "importing 'my' raises ZeroDivisionError: "),
    ("Spec = ProtocolSpec", "Spec = 3", "my:SORTING.Spec must be a class derived"),
    ("Spec = ProtocolSpec", NO_SETTING, "my:SORTING.Spec.only_for_judging: no setting 'trails' (d"),
    ("Spec = ProtocolSpec", NO_TUPLE, "my:SORTING.Spec.only_for_search must be a tuple of str, go"),
    ('chooses = "swaps"', 'chooses = "swap"',
     "my:SORTING.chooses: no measure 'swap' with a better side (did you mean 'swaps'?)"),
    ("swaps_table", "swaps_tables",
     "my:SORTING.outputs: no 'swaps_tables' (did you mean 'swaps_table'?)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "old", "new", "told"),
    [*((kind, "", "", told) for kind, told in NAMES), *(("my:SORTING", *row) for row in CHANGES)],
)
def test_what_is_refused(own_modules, kind, old, new, told):
    own_modules("my", OWN.replace(old, new) if old else OWN)
    with pytest.raises(ConfigError) as error:
        get(kind)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(told)
