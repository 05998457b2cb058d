"""The fast way finds what scanning every text with every rule finds, on any input."""

import random

import numpy as np
import pytest

from corpus_assets.scrub import keys
from corpus_assets.scrub.find import RULES, Found, find_in_batch, strongest, table_of
from corpus_assets.scrub.kernels.candidates import find_places
from corpus_assets.scrub.kernels.triggers import byte_classes, marks_of
from corpus_assets.scrub.settings import KINDS
from corpus_assets.text.split import Bytes, Ints
from corpus_assets_tests.scrub.ascii_digits import with_ascii_digits
from corpus_assets_tests.scrub.test_rules import IDS, KEYS, PHONES
from corpus_assets_tests.signals.support.texts import real_texts

EVERY = frozenset(KINDS)

PIECES = [
    *(text for text, _ in PHONES), *(word + number for number, word in IDS.values()), *KEYS,
    "jane@example.org", "müller@bücher.de", "93.184.216.34", "12.30.4.18", "2606:2800:220:1::5",
    "7.3.44.1. Summary\n", "24.3.44.2", "since ", "jane (at) widgets (dot) org", "at)", "[at]b.org",
    "021-52921234转641133", "number=4539571234123455", "082 490 1693-Office",
    "4111 1111 1111 1111", "4111111111111111", "DE89 3704 0044 0532 0130 00",
    "GB29NWBK60161331926819", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "password: 'Xk29fLq0Zr81mNpT'", "2024-01-01 12:30", "ISBN 978-3-16-148410-0",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    "konto 61 1090 1014 0000 0712 1981 2874", "jane AT widgets DOT org", "４１１１１１１１１１１１１１１１",
    "-----BEGIN PRIVATE KEY-----\n", "MIIEpAIBAAKCAQEA\n", "tel ", "card ", "passport ",
]  # fmt: skip
GLUE = [*" \n.,-/()+@=:_'\"aZ0é漢\u00a0\u202f\u2013\u2212\ud800１٣（）－", "12", "345", " ", " "]


def batch_of(texts: list[str]) -> tuple[Bytes, Ints, list[bytes]]:
    docs = [text.encode("utf-8", "surrogatepass") for text in texts]
    data = np.frombuffer(b"".join(docs), dtype=np.uint8)
    return data, np.cumsum([0, *map(len, docs)], dtype=np.int64), docs


def by_plain_scan(doc: bytes, kinds: frozenset[str]) -> list[Found]:
    """The reference: every rule's expression over the whole text, from left to right."""
    table = table_of(kinds)
    doc, written = with_ascii_digits(doc)
    found: dict[str, list[Found]] = {kind: [] for kind in table.kinds}
    for rule in table.rules:
        at = 0
        while match := rule.pattern.search(doc, at):
            span = rule.check(doc, match)
            at = match.start() + 1
            if span is not None:
                start, end = span
                found[rule.kind].append((written[start], written[end], rule.kind))
                at = max(at, end)
    return strongest(found.values())


def random_docs(seed: int, n: int) -> list[str]:
    draw = random.Random(seed)
    out = []
    for _ in range(n):
        pieces = [
            draw.choice(PIECES) if draw.random() < 0.5 else draw.choice(GLUE)
            for _ in range(draw.randrange(12))
        ]
        text = "".join(pieces)
        if text and draw.random() < 0.5:  # cut or change something in the middle
            at = draw.randrange(len(text))
            text = text[:at] + draw.choice(GLUE) + text[at + draw.randrange(3) :]
        out.append(text)
    return out


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_has_the_findings_of_plain_scans(seed: int) -> None:
    data, offsets, docs = batch_of(random_docs(seed, 500))
    found = find_in_batch(data, offsets, EVERY)
    expected = {row: scan for row, doc in enumerate(docs) if (scan := by_plain_scan(doc, EVERY))}
    assert found == expected
    assert sum(map(len, expected.values())) > 300


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_alone_has_the_findings_of_a_plain_scan(kind: str) -> None:
    data, offsets, docs = batch_of(random_docs(9, 250))
    found = find_in_batch(data, offsets, frozenset({kind}))
    for row, doc in enumerate(docs):
        assert found.get(row, []) == by_plain_scan(doc, frozenset({kind}))


def test_real_texts_have_the_findings_of_plain_scans() -> None:
    texts = [text[:3000] for text in real_texts()[::12]]
    data, offsets, docs = batch_of(texts)
    found = find_in_batch(data, offsets, EVERY)
    for row, doc in enumerate(docs):
        assert found.get(row, []) == by_plain_scan(doc, EVERY)


def test_every_place_where_a_rule_matches_is_reported() -> None:
    """The kernel's promise, rule by rule: it may report too much and never too little."""
    data, offsets, docs = batch_of(random_docs(12, 300))
    places = find_places(data, offsets, byte_classes(), marks_of(keys.MARKS), True)
    reported = {tuple(row) for row in places.tolist()}
    checked = 0
    for row, doc in enumerate(docs):
        for rule in RULES:
            at = 0
            while match := rule.pattern.search(doc, at):
                at = match.start() + 1
                if rule.check(doc, match) is None:
                    continue
                place = int(offsets[row]) + match.start()
                ours = [r for r in reported if r[:3] == (row, place, rule.trigger)]
                assert ours, (rule.name, match.group())
                assert rule.leads is None or any(r[3] in rule.leads for r in ours), rule.name
                checked += 1
    assert checked > 300


def test_documents_do_not_see_each_other() -> None:
    data, offsets, _ = batch_of(
        ["4111 1111 1111", " 1111", "jane@", "example.org", "+49 30", " 901820"]
    )
    assert find_in_batch(data, offsets, EVERY) == {}


def test_places_come_in_order_however_many_there_are() -> None:
    data, offsets, _ = batch_of(["a@b.org " * 50_000, "", "93.184.216.34 " * 20_000])
    found = find_in_batch(data, offsets, EVERY)
    assert {row: len(spans) for row, spans in found.items()} == {0: 50_000, 2: 20_000}
    assert found[0][-1] == (399_992, 399_999, "email")


def test_no_texts_and_no_kinds_give_nothing() -> None:
    data, offsets, _ = batch_of([])
    assert find_in_batch(data, offsets, EVERY) == {}
    data, offsets, _ = batch_of(["jane@example.org"])
    assert find_in_batch(data, offsets, frozenset()) == {}


def test_of_overlapping_findings_the_first_group_wins_and_then_the_first_place() -> None:
    first = [(5, 9, "a")]
    second = [(0, 3, "b"), (2, 4, "b"), (8, 12, "b"), (9, 11, "b"), (9, 13, "b")]
    assert strongest([first, second]) == [(0, 3, "b"), (5, 9, "a"), (9, 13, "b")]
