import pytest

from dsgkit.system.progress import Bar, listening, part, report


def test_parts_of_parts_add_up_to_the_whole():
    seen = []
    with listening(seen.append):
        with part(0, 0.5):
            report(0.5)
            with part(0.5, 1):
                report(0.5)
        with part(0.5, 1):
            report(0.2)
    assert seen == [0.25, 0.375, 0.5, 0.5, 0.6, 1.0]


def test_without_a_listener_nothing_happens():
    report(0.5)
    with part(0, 1):
        report(1.0)
    seen = []
    with listening(seen.append):
        pass
    report(0.3)
    assert seen == []


@pytest.mark.parametrize("terminal", [False, True])
def test_a_bar_shows_on_a_terminal_alone(monkeypatch, capsys, terminal):
    monkeypatch.setenv("TTY_COMPATIBLE", "1" if terminal else "0")
    with Bar("rows [3]", 4) as bar:
        bar.update(1)
        bar.show(2)
    shown = capsys.readouterr()
    assert ("rows [3]" in shown.err) is terminal
    assert ("50%" in shown.err) is terminal
    assert shown.out == "" and (terminal or shown.err == "")
