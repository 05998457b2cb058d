import pytest

from catalog.figures import cpu_time, short


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (0.123456, "0.1235"), (-12.0, "-12"), (1234.6, "1,235"), (-100_000.0, "-100,000")],
)
def test_a_number_is_short_and_has_no_exponent_people_would_have_to_read(
    value: float, shown: str
) -> None:
    assert short(value) == shown


def test_cpu_time_is_in_seconds_until_it_is_worth_hours() -> None:
    assert cpu_time(0.9594) == "1.0 CPU seconds"
    assert cpu_time(5400) == "1.5 CPU hours"
