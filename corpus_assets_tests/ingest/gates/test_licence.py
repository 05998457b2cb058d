import pytest

from corpus_assets.ingest.gates.licence import page_licence, text_licence
from corpus_assets.ingest.gates.spdx import allows

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
        (BY + BY.replace("/by/", "/by-nc-nd/"), "CC-BY-4.0 AND CC-BY-NC-ND-4.0"),
        (
            BY.replace("/by/4.0/", "/by-nc/3.0/us/") + BY.replace("/by/", "/by-nc/") + SA,
            "CC-BY-NC-3.0 AND CC-BY-NC-4.0",
        ),
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


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("https://creativecommons.org", "HTTPS://CreativeCommons.org", "CC-BY-4.0"),
        ("https://creativecommons.org/licenses/by/", "//CREATIVECOMMONS.ORG/LICENSES/BY/", "CC-BY-4.0"),
        ("//creativecommons", "//www.creativecommons", "CC-BY-4.0"),
        ("https://creativecommons", "creativecommons", "CC-BY-4.0"),  # its scheme forgotten
        ("//creativecommons", "//notcreativecommons", None),
        ("//creativecommons", "//evil-creativecommons", None),
        ("//creativecommons", "//x.test/?u=creativecommons", None),
        ("//creativecommons", "//x.test/creativecommons", None),
        ("creativecommons.org/", "creativecommons.org.x.test/", None),
        ("//creativecommons.org/licenses/", "&#x2F;&#47;creativecommons.org&#x2F;licenses&#47;", "CC-BY-4.0"),
        ("<a rel=", "<span rel=", "CC-BY-4.0"),
        ('rel="license" href', 'rel="dct:license" resource', "CC-BY-4.0"),
        ('<a rel="license" href', '<span rel="dct:license" resource', "CC-BY-4.0"),
        ('<a rel="license" href', '<span property="dct:license" content', "CC-BY-4.0"),
        ('<a rel="license" href', '<img title="a licence" longdesc', None),
    ],
)  # fmt: skip
def test_an_address_counts_however_it_is_written_but_only_that_of_creative_commons(
    old: str, new: str, expected: str | None
) -> None:
    page = BY.replace(old, new)
    assert page != BY
    assert page_licence(page.encode()) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("sa/1.0", "CC-SA-1.0"),
        ("nc/1.0", "LicenseRef-CC-NC-1.0"),
        ("nd/1.0", "LicenseRef-CC-ND-1.0"),
        ("nd-nc/1.0", "LicenseRef-CC-ND-NC-1.0"),
        ("nc-sa/1.0", "LicenseRef-CC-NC-SA-1.0"),
        ("sampling+/1.0", "LicenseRef-CC-Sampling-Plus-1.0"),
    ],
)
def test_a_retired_licence_is_one_that_no_list_allows_by_accident(kind: str, expected: str) -> None:
    page = BY.replace("by/4.0", kind).encode()
    assert page_licence(page) == expected
    assert allows(expected, [expected])
    assert not allows(expected, ["CC-BY-4.0", "CC0-1.0"])


def test_a_page_under_several_licences_passes_only_where_all_are_allowed() -> None:
    named = page_licence((BY + BY.replace("/by/", "/by-nc/")).encode())
    assert named is not None
    assert not allows(named, ["CC-BY-4.0"])
    assert allows(named, ["CC-BY-4.0", "CC-BY-NC-4.0"])


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
