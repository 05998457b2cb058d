import pytest

from corpus_assets.sources.licence import page_licence, text_licence

BY = '<a rel="license" href="https://creativecommons.org/licenses/by/4.0/">CC BY</a>'
SA = '<a href="http://creativecommons.org/licenses/by-sa/3.0/deed.de">this picture</a>'


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (BY, "CC-BY-4.0"),
        ("<link rel=license href=//creativecommons.org/publicdomain/zero/1.0/>", "CC0-1.0"),
        ('<link href="https://creativecommons.org/publicdomain/mark/1.0/">', "CC-PDM-1.0"),
        (SA, "CC-BY-SA-3.0"),
        (BY + SA, "CC-BY-4.0"),  # the marked link speaks for the page
        (SA + SA.replace("3.0", "4.0"), None),  # two plain links that disagree
        (BY + BY.replace("/by/", "/by-nc-nd/"), None),
        ("<p>see https://creativecommons.org/licenses/by/4.0/ for more</p>", None),
        ('<a href="https://creativecommons.org/about/">about</a>', None),
        ('<a href="https://creativecommons.org/licenses/xyz/4.0/">?</a>', None),
        ("<p>nothing</p>", None),
        (BY.replace("/by/4.0/", "/by/3.0/de/"), "CC-BY-3.0-DE"),  # SPDX names this port
        (BY.replace("/by/4.0/", "/by/3.0/br/"), "CC-BY-3.0"),  # and not this one
        (BY.replace("/by/4.0/", "/by-nd-nc/1.0"), "CC-BY-NC-ND-1.0"),
        (BY.replace("/by/4.0/", "/publicdomain/"), "CC-PDDC"),
        (BY.replace("/by/4.0/", "/by/"), None),  # which version?
        ('<area rel="license" href="https://creativecommons.org/licenses/by/4.0/">', "CC-BY-4.0"),
        (
            '<a property="cc:license" href="http://creativecommons.org/licenses/by/2.0/">',
            "CC-BY-2.0",
        ),
        (
            '<meta name="dcterms.license" content="https://creativecommons.org/licenses/by/4.0/">'
            + SA,
            "CC-BY-4.0",
        ),
        ('<meta name="note" content="https://creativecommons.org/licenses/by/4.0/">', None),
        (
            '<script type="application/ld+json">{"license": '
            '"https:\\/\\/creativecommons.org\\/licenses\\/by-sa\\/4.0\\/"}</script>',
            "CC-BY-SA-4.0",
        ),
        (
            '<script>{"license": {"@id": "https://creativecommons.org/licenses/by/4.0/"}}</script>',
            "CC-BY-4.0",
        ),
        ('<script>{"image": "https://creativecommons.org/licenses/by/4.0/"}</script>', None),
    ],
)
def test_a_page_names_its_creative_commons_licence(page: str, expected: str | None) -> None:
    assert page_licence(page.lower().encode()) == expected


def test_a_file_names_its_licence_in_an_spdx_line() -> None:
    assert text_licence("// SPDX-License-Identifier: MIT\nint x;") == "MIT"
    assert text_licence("/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */") == (
        "GPL-2.0-only WITH Linux-syscall-note"
    )
    assert text_licence("# SPDX-License-Identifier: (MIT OR Apache-2.0)\n") == "(MIT OR Apache-2.0)"
    assert text_licence("<!-- SPDX-License-Identifier: MIT -->") == "MIT"
    assert text_licence("# SPDX-License-Identifier: see the file\n") is None
    assert text_licence("x" * 5000 + "SPDX-License-Identifier: MIT") is None
    assert text_licence("no licence here") is None


def test_a_page_full_of_licence_links_costs_a_bounded_number_of_looks() -> None:
    links = (SA + "<" * 500).encode() * 20_000
    assert page_licence(links.lower()) == "CC-BY-SA-3.0"
