import random

import pytest

from catalog.formats.urls import canonical_url, url_key
from corpus_assets.core.urls import Address, address_of


def by_the_rules(url: str) -> Address | None:
    """The names without any shortcut."""
    try:
        canonical = canonical_url(url)
    except ValueError:
        return None
    return Address(canonical, url_key(url), canonical.split("/")[2].partition(":")[0])


@pytest.mark.parametrize("seed", range(10))
def test_addresses_have_the_names_that_the_rules_give_them(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(300):
        host = ".".join(
            draw.choices(["www", "a", "b-c", "x1", "-", "com", "org", "1", "0x7f", "B", "é"], k=3)
        )
        pieces = [
            "/",
            "a",
            "..",
            ".",
            "%41",
            "%7e",
            "~",
            "A",
            "?q=1",
            "&utm_source=x",
            "#f",
            ":",
            "+",
            " ",
            "|",
            ";jsessionid=1",
            ";v",
            "(S(0123456789abcdefghijklmn))",
            "?PHPSESSID=1",
            "!$'*,=@_",
        ]
        path = "".join(draw.choices(pieces, k=draw.randrange(8)))
        url = f"{draw.choice(['http', 'https', 'ftp'])}://{host}{draw.choice(['', '/'])}{path}"
        assert address_of(url) == by_the_rules(url), url
