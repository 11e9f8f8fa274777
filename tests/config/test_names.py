"""Shipped configs have names; files of the user's win over them."""

import pytest

from dsgkit.config import load_experiment, shipped
from dsgkit.text.errors import ConfigError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Every test starts in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["codrna_s2auc", "codrna_s2auc.yaml", "claims/su_cost"])
def test_a_name_is_a_shipped_config(name):
    assert load_experiment(name).name == name.removeprefix("claims/").removesuffix(".yaml")


def test_a_file_wins_over_a_name(elsewhere):
    (elsewhere / "iris_clustering").write_text(
        "extends: base/clustering.yaml\ndataset: {name: glass}\n"
    )
    assert load_experiment("iris_clustering").dataset.name == "glass"


def test_a_folder_does_not(elsewhere):
    (elsewhere / "iris_clustering").mkdir()
    assert load_experiment("iris_clustering").dataset.name == "iris"


def test_a_base_next_to_a_config_wins_over_a_shipped_one(elsewhere):
    (elsewhere / "base").mkdir()
    mine = elsewhere / "mine.yaml"
    mine.write_text("extends: base/s2auc.yaml\ndataset: {name: codrna}\n")
    assert load_experiment(mine).protocol.labeled == 200
    (elsewhere / "base" / "s2auc.yaml").write_text(
        "protocol: {kind: semi_supervised_auc, labeled: 60}\nsolvers: {samult: {}}\n"
    )
    assert load_experiment(mine).protocol.labeled == 60


@pytest.mark.parametrize("name", shipped.names())
def test_a_copy_is_the_same_experiment(elsewhere, name):
    shipped.copy(name, elsewhere / "mine.yaml")
    copied, original = load_experiment("mine.yaml"), load_experiment(name)
    assert copied.model_dump(exclude={"name"}) == original.model_dump(exclude={"name"})


def test_a_copy_overwrites_nothing(elsewhere):
    (elsewhere / "mine.yaml").write_text("mine")
    with pytest.raises(ConfigError, match="is there already"):
        shipped.copy("iris_clustering", elsewhere / "mine.yaml")
    assert (elsewhere / "mine.yaml").read_text() == "mine"


@pytest.mark.parametrize("name", ["codrna_s2acu", "../configs/codrna_s2auc", "/codrna_s2auc"])
def test_a_name_that_is_none_has_a_hint(elsewhere, name):
    with pytest.raises(ConfigError, match=r"codrna_s2auc|no such|No such"):
        load_experiment(name)
    with pytest.raises(ConfigError, match="no shipped config"):
        shipped.copy(name, elsewhere / "mine.yaml")


@pytest.mark.parametrize("folder", ["configs", "/nowhere/configs", "here"])
def test_a_missing_file_called_like_a_shipped_config_has_its_name(elsewhere, folder):
    told = "no such config file; the package has one: dsg run"
    with pytest.raises(ConfigError, match=f"{told} covtype_su$"):
        load_experiment(f"{folder}/sub/covtype_su.yaml")
    claim = next(name for name in shipped.names() if name.startswith("claims/"))
    with pytest.raises(ConfigError, match=f"{told} {claim}$"):
        load_experiment(f"{folder}/{claim}.yaml")


def test_a_base_is_found_without_its_folder(tmp_path):
    with pytest.raises(ConfigError, match=r"did you mean 'base/try_auc'\?"):
        shipped.copy("try_auc", tmp_path / "mine.yaml")
