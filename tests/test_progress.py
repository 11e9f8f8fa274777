from dsgkit.progress import listening, part, report


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
