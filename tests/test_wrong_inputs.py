"""Wrong inputs, each with the one line that answers it, which wrong_inputs.txt has."""

import re
from pathlib import Path

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.errors import ConfigError

DIGITS = "dataset: {name: digits}\n"
PARTS = {
    "$MINIMAL": DIGITS + "solvers:\n  samult:\n    grid: {lam: 2^-3..2^3, sigma: 1}\n",
    "$SAMULT": DIGITS + "solvers:\n  samult:\n    ",
    "$DIGITS": DIGITS,
    "$TAIL": "solvers: {samult: {grid: {lam: 1, sigma: 1}}}",
    "$HUGE": "9" * 400,
}
AUC = "protocol.kind=semi_supervised_auc"


WRONG, RIGHT = "wrong_inputs.txt", "right_inputs.txt"


def cases(section, table=WRONG):
    """The inputs and answers of a section of a table."""
    text = Path(__file__).with_name(table).read_text(encoding="utf-8")
    rows = text.partition(f"== {section}\n")[2].partition("\n\n")[0].splitlines()
    return [pytest.param(*row.split(" => "), id=row) for row in rows]


def config_of(text):
    """A config as the table spells it, in one line."""
    first, *more = text.split(" ¶ ")
    indent = "    " if first.startswith("$SAMULT") else ""
    spelled = "\n".join([first, *(indent + line for line in more)])
    for name, part in PARTS.items():
        spelled = spelled.replace(f"{name} ", part).replace(name, part)
    return spelled + "\n" * bool(text)


FORMS = {
    "configs of the task semi_supervised_auc": lambda text: (text, [AUC], None),
    "configs": lambda text: (text, [], None),
    "profile quick": lambda text: (text, [AUC], "quick"),
    "overrides of $MINIMAL": lambda text: ("$MINIMAL", [AUC, text], None),
}


@pytest.mark.parametrize("section", FORMS)
def test_a_wrong_config_is_answered(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "circle.yaml").write_text("extends: ../c.yaml\n")
    differing = []
    for case in cases(section):
        text, overrides, profile = FORMS[section](case.values[0])
        (tmp_path / "c.yaml").write_text(config_of(text))
        with pytest.raises(ConfigError) as error:
            load_experiment("c.yaml", overrides=overrides, profile=profile)
        told = re.sub("9{20,}", "9..9", str(error.value)).replace(str(tmp_path), "HERE")
        if told != case.values[1]:
            differing.append((case.values, told))
    assert differing == []
