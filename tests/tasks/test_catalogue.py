"""Tasks by name, user-defined ones, and the facts of solvers that a results folder keeps."""

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.errors import ConfigError
from dsgkit.experiment.folder import describe
from dsgkit.tasks.base import TASKS, get
from dsgkit.tasks.measures import STANDARD, outputs_of
from dsgkit.user_code import version_of

OWN = """
from dsgkit.tasks.base import Task
from dsgkit.tasks.measures import Measure

class Sorting(Task):
    measures = (Measure(name="swaps", title="Swaps", better="lower"),)
    chooses = "swaps"
    outputs = ("swaps_table",)
    words = ()
"""


@pytest.mark.parametrize("kind", TASKS)
def test_every_task_goes_by_its_kind_and_its_declarations_agree(kind):
    task = get(kind)
    assert task.kind == kind
    assert version_of(task) == (2 if kind == "semi_supervised_svm" else 1)
    names = [measure.name for measure in task.measures]
    assert len(set(names)) == len(names) and task.chooses in names
    assert set(task.outputs) <= set(outputs_of((*task.measures, *STANDARD), swept=True))
    assert task.Spec(kind=kind).selection


def test_a_user_defined_task_has_the_version_of_its_code(own_modules):
    def edited(**files):
        for name, text in files.items():
            own_modules(name, text)
        return version_of(get("my:Sorting"))

    assert edited(my=OWN) != edited(my=OWN + "EDITED = True\n")
    assert (get("my:Sorting").measures[0].word, get("my:Sorting").kind) == ("swaps", "my:Sorting")
    assert edited(my=OWN.replace("words = ()", "words, version = (), 3")) == 3
    derived = "from base import Sorting as Base\nclass Sorting(Base): pass\n"
    first = edited(base=OWN, my=derived)
    assert len({first, edited(base=OWN + "E = 1\n"), edited(base=OWN, my=derived + "E = 1\n")}) == 3


UNUSABLE = [
    ("Sortin", "", "", "module 'my' has no task 'Sortin' (did you mean "),
    ("Measure", "", "", "my:Measure is not a task: <class"),
    ("Sorting", 'chooses = "swaps"', "", "my:Sorting raises AttributeError: type object 'Sorting'"),
    ("Sorting", '= "swaps"', '= "swap"', "my:Sorting.chooses: no 'swap' (did you mean 'swap"),
    *(
        ("Sorting", 'name="swaps"', f'name="{one}"', f"my:Sorting: '{one}' names another column")
        for one in ("trial", "dataset", "fit_seconds")
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "message"), UNUSABLE)
def test_a_task_that_cannot_be_used_is_one_line(own_modules, name, old, new, message):
    own_modules("my", OWN.replace(old, new))
    with pytest.raises(ConfigError) as error:
        get(f"my:{name}")
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(message)


KMEANS = 'kind: "sklearn.cluster:KMeans"'
SOLVERS = f"solvers: {{one: {{{KMEANS}, params: {{n_clusters: classes}}}}, two: {{{KMEANS}}}}}\n"
UPPER_BOUNDS = ("supervised_sl", "supervised_sl_linear", "majority_class")
TOLD = [
    ("s2auc", "codrna", "", {}),
    ("s3vm", "codrna", "", {"all_labels": "the hidden labels"}),
    ("su", "codrna", "", dict.fromkeys(UPPER_BOUNDS, "labels")),
    ("ordinal", "abalone", "", {}),
    ("clustering", "iris", SOLVERS, {"one": "the number of classes"}),
]


@pytest.mark.parametrize(("base", "dataset", "solvers", "told"), TOLD)
def test_upper_bounds_are_told_what_no_user_has(tmp_path, base, dataset, solvers, told):
    config = tmp_path / "mine.yaml"
    config.write_text(f"extends: base/{base}.yaml\ndataset: {{name: {dataset}}}\n{solvers}")
    found = describe(load_experiment(config)).solvers
    kept = {key: found[key].told for key in (("one", "two") if solvers else found)}
    assert {key: text for key, text in kept.items() if text} == told
    if base == "s2auc":  # above 0 only: there is no smallest sigma
        ends = found["qsg_s2auc"].ends
        assert ends["gamma"] == (0.0, 1.0) and ends["sigma"] == (None, None)
