"""Tasks by name, and user-defined ones: what is found and what is refused."""

import pytest

from dsgkit.errors import ConfigError
from dsgkit.tasks.base import TASKS, about, get, version
from dsgkit.tasks.measures import STANDARD, outputs_of

OWN = """
from dsgkit.tasks.base import ProtocolSpec, Task
from dsgkit.tasks.measures import Measure

class Sorting(Task):
    measures = (Measure(name="swaps", title="Swaps", word="swaps", better="lower"),)
    chooses = "swaps"
    outputs = ("swaps_table",)
    words = ()
"""


@pytest.mark.parametrize("kind", TASKS)
def test_every_task_goes_by_its_kind_and_its_declarations_agree(kind):
    task = get(kind)
    assert task.kind == kind
    assert version(kind) == (2 if kind == "semi_supervised_svm" else 1)
    assert about(kind).endswith(".")
    names = [measure.name for measure in task.measures]
    assert len(set(names)) == len(names) and task.chooses in names
    assert set(task.outputs) <= set(outputs_of((*task.measures, *STANDARD), swept=True))
    assert task.Spec(kind=kind).selection


def test_a_user_defined_task_has_the_version_of_its_code(own_modules):
    own_modules("my", OWN)
    assert (get("my:Sorting").chooses, get("my:Sorting").kind) == ("swaps", "my:Sorting")
    before = version("my:Sorting")
    own_modules("my", OWN + "EDITED = True\n")
    assert version("my:Sorting") != before
    own_modules("my", OWN.replace("words = ()", "words, version = (), 3"))
    assert version("my:Sorting") == 3


def test_a_task_with_a_base_in_another_file_has_the_version_of_both(own_modules):
    def edited(settings, words):
        own_modules("base", OWN.replace("words = ()", f"words = {words}"))
        own_modules(
            "my", f"from base import Sorting\nSET = {settings}\nclass Mine(Sorting): pass\n"
        )
        return version("my:Mine")

    assert len({edited(1, ()), edited(2, ()), edited(1, ("word",))}) == 3


NAMES = [
    ("semi_supervised_auk", "unknown task 'semi_supervised_auk' (did you mean 'semi_sup"),
    ("my:Sortin", "module 'my' has no task 'Sortin' (did you mean "),
    ("my:Measure", "my:Measure is not a task: <class"),
]
CHANGES = [
    ('chooses = "swaps"', "", "my:Sorting lacks chooses; see dsgkit.tasks.base.Task"),
    ("words = ()", "axes = 1 / 0", "importing 'my' raises ZeroDivisionError: "),
    ("words = ()", "Spec = 3", "my:Sorting.Spec must be a class derived"),
    ('chooses = "swaps"', 'chooses = "swap"', "my:Sorting.chooses: no 'swap' (did you mean 'swap"),
    ("swaps_table", "swaps_tables", "my:Sorting.outputs: no 'swaps_tables' (did you mean 'swaps_"),
    ('name="swaps"', 'name="trial"', "my:Sorting.measures: 'trial' names another column"),
]


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [*((kind, "", "", text) for kind, text in NAMES), *(("my:Sorting", *row) for row in CHANGES)],
)
def test_a_task_that_cannot_be_used_is_one_line(own_modules, kind, old, new, message):
    own_modules("my", OWN.replace(old, new) if old else OWN)
    with pytest.raises(ConfigError) as error:
        get(kind)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(message)
