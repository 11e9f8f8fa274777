"""Shipped configs have names; files of the user's win over them."""

import pytest

from dsgkit.config import load_experiment, shipped
from dsgkit.errors import ConfigError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Every test starts in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_name_is_a_shipped_config(elsewhere):
    (elsewhere / "codrna_s2auc").mkdir()  # a folder does not win over it
    for name in ("codrna_s2auc", "codrna_s2auc.yaml", "claims/su_cost"):
        assert load_experiment(name).name == name.removeprefix("claims/").removesuffix(".yaml")


def test_a_file_wins_over_a_name(elsewhere):
    text = "extends: base/clustering.yaml\ndataset: {name: glass}\n"
    (elsewhere / "iris_clustering").write_text(text)
    assert load_experiment("iris_clustering").dataset.name == "glass"


def test_a_base_next_to_a_config_wins_over_a_shipped_one(elsewhere):
    (elsewhere / "base").mkdir()
    mine = elsewhere / "mine.yaml"
    mine.write_text("extends: base/s2auc.yaml\ndataset: {name: codrna}\n")
    assert load_experiment(mine).protocol.labeled == 200
    (elsewhere / "base" / "s2auc.yaml").write_text(
        "protocol: {kind: semi_supervised_auc, labeled: 60}\nsolvers: {samult: {}}\n"
    )
    assert load_experiment(mine).protocol.labeled == 60


@pytest.mark.parametrize("name", ["iris_clustering", "claims/su_cost"])
def test_a_copy_is_the_same_experiment_and_overwrites_nothing(elsewhere, name):
    shipped.copy(name, elsewhere / "mine.yaml")
    copied, original = load_experiment("mine.yaml"), load_experiment(name)
    assert copied.model_dump(exclude={"name"}) == original.model_dump(exclude={"name"})
    before = (elsewhere / "mine.yaml").read_text()
    with pytest.raises(ConfigError, match="exists already"):
        shipped.copy("quickstart", elsewhere / "mine.yaml")
    assert (elsewhere / "mine.yaml").read_text() == before


@pytest.mark.parametrize(
    ("place", "name"), [("configs/sub", "covtype_su"), ("/nowhere/configs", "claims/su_cost")]
)
def test_a_missing_file_called_like_a_shipped_config_has_its_name(place, name):
    told = f"no such config file; the package has one: dsg run {name}$"
    with pytest.raises(ConfigError, match=told):
        load_experiment(f"{place}/{name}.yaml")


def test_a_base_is_found_without_its_folder(elsewhere):
    with pytest.raises(ConfigError, match=r"did you mean 'base/try_auc'\?"):
        shipped.copy("try_auc", elsewhere / "mine.yaml")
