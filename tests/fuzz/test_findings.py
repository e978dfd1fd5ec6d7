from fuzz.findings import file_name


def test_a_file_is_named_after_its_verdict() -> None:
    name = file_name("disagree values/value xla:algsimp", "text")
    assert name.startswith("values-value-xla-algsimp-")
    assert name != file_name("disagree values/value xla:algsimp", "other text")


def test_the_name_of_a_file_stays_short() -> None:
    command = f'disagree crash/crash cmd:"compiler {"--a-long-option " * 40}"'
    name = file_name(command, "text")
    assert len(name) <= 80 + len("-01234567.hlo")
    assert "--" not in name
