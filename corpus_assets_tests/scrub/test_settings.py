"""E-mail and public IP addresses: what is found, what is left alone, and at what cost."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.scrub.findings import Finding
from corpus_assets.scrub.settings import KINDS, ScrubSettings
from corpus_assets_tests.scrub.one_text import find_personal_data

ALL = ScrubSettings(replace=KINDS)


def found(text: str, settings: ScrubSettings = ALL) -> list[str]:
    return [text[f.start : f.end] for f in find_personal_data(text, settings)]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Write to jane.doe@example.org today.", "jane.doe@example.org"),
        ("mailto:JANE_DOE+news@Mail.Example.CO.UK", "JANE_DOE+news@Mail.Example.CO.UK"),
        ("<jane%x@a-b.example.museum>", "jane%x@a-b.example.museum"),
        ("(jane@example.org)", "jane@example.org"),
        ("jane@example.org.", "jane@example.org"),
        ("jane@example.org, john", "jane@example.org"),
        ("Schreiben Sie an müller: mueller@beispiel.de!", "mueller@beispiel.de"),
        ("Écrivez à l'adresse «jean.dupont@exemple.fr»", "jean.dupont@exemple.fr"),
        ("¿Preguntas? soporte@ejemplo.es¡", "soporte@ejemplo.es"),
        ("Пишите на ivan@primer.ru, пожалуйста", "ivan@primer.ru"),
        ("邮箱zhang.wei@example.com.cn。", "zhang.wei@example.com.cn"),
        ("メールはtanaka@example.jpまで", "tanaka@example.jp"),
        ("للتواصل: ali@example.ae", "ali@example.ae"),
        ("line one\nbob@example.org\nline three", "bob@example.org"),
        ("a@b.co", "a@b.co"),
    ],
)
def test_an_email_address_is_found_in_any_language(text: str, address: str) -> None:
    assert found(text) == [address]
    assert find_personal_data(text, ALL)[0].kind == "email"


@pytest.mark.parametrize(
    "text",
    [
        "follow @jane on the network",
        "meet me @ 5.30 p.m.",
        "user@localhost",
        "a@b",
        "a@b.c",
        "@example.org",
        "jane@",
        "jane @example.org",
        "the array a[i]@b[i]",
        "@media (min-width: 3px) {}",
        "@@@@",
        "x" * 70 + "@example.org",
    ],
)
def test_what_only_has_an_at_sign_is_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("The server is 93.184.216.34.", "93.184.216.34"),
        ("(45.33.32.156)", "45.33.32.156"),
        ("45.33.32.156:53 answers", "45.33.32.156"),
        ("route 1.1.1.0/24", "1.1.1.0"),
        ("Der Rechner hat die Adresse 93.184.216.34, sagt er.", "93.184.216.34"),
        ("L'adresse est «93.184.216.34».", "93.184.216.34"),
        ("Адрес: 93.184.216.34", "93.184.216.34"),
        ("服务器地址93.184.216.34已停用", "93.184.216.34"),
        ("アドレスは93.184.216.34です", "93.184.216.34"),
        ("::ffff:93.184.216.34", "93.184.216.34"),
        ("2606:2800:220:1::5 is public", "2606:2800:220:1::5"),
        ("[2606:2800:220:1:248:1893:25C8:1946]:443", "2606:2800:220:1:248:1893:25C8:1946"),
        ("地址2606:2800:220:1::6。", "2606:2800:220:1::6"),
    ],
)
def test_a_public_ip_address_is_found(text: str, address: str) -> None:
    assert found(text) == [address]
    assert find_personal_data(text, ALL)[0].kind == "ip"


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.1 and 172.16.3.4 and 192.168.1.20 are private",
        "127.0.0.1 and 0.0.0.0 are this machine",
        "169.254.1.1 is link-local, 224.0.0.1 multicast, 255.255.255.255 broadcast",
        "192.0.2.7, 198.51.100.7 and 203.0.113.7 are for documentation",
        "::1 and :: and fe80::1 and fc00::1 and 2001:db8::7",
        "999.1.1.1 and 1.2.3.256 and 045.33.32.156",
        "1.2.3 and 1.2.3.4.5 and 1.2.3.4.5.6.7",
        "x1.2.3.4 and 1.2.3.4x and v1.2.3.4 and 1.2.3.4_5",
        "version 1.2.3.4, Version: 1.2.3.4, ver. 1.2.3.4, release 4.3.2.1, firmware 1.2.3.4",
        "V. 1.2.3.4 and build 120.0.1.109",
        "at 12:30:45 or 2024-01-01T12:30:45Z or 1:2:3:4:5:6:7:8:9",
        "std::vector, A::B, Dead::Beef, Face::Cafe::Bad, ::add and a::b of a program",
        "ratio 1:2:3",
        "00:1a:2b:3c:4d:5e is a network card",
    ],
)
def test_private_reserved_and_version_like_numbers_are_left_alone(text: str) -> None:
    assert found(text) == []


def test_a_version_word_far_away_does_not_protect() -> None:
    assert found("the version runs on 93.184.216.34") == ["93.184.216.34"]


def test_each_kind_can_be_switched_off() -> None:
    text = "jane@example.org from 93.184.216.34"
    assert found(text, ScrubSettings(replace=("ip",))) == ["93.184.216.34"]
    assert found(text, ScrubSettings(replace=("email",))) == ["jane@example.org"]
    assert found(text, ScrubSettings(replace=())) == []


def test_findings_come_in_order_of_place() -> None:
    text = "93.184.216.34 jane@example.org 45.33.32.156 2606:2800:220:1::5 bob@example.org"
    assert found(text) == text.split()


def test_an_address_inside_an_address_is_found_once() -> None:
    assert found("mail root.45.33.32.156@example.org") == ["root.45.33.32.156@example.org"]


@given(st.text(st.sampled_from("a1.:@-8 \né地F"), max_size=60))
def test_findings_are_ordered_whole_and_never_overlap(text: str) -> None:
    findings = find_personal_data(text, ALL)
    end = 0
    for finding in findings:
        assert end <= finding.start < finding.end <= len(text)
        assert "\n" not in text[finding.start : finding.end]
        end = finding.end
    assert findings == sorted(findings, key=lambda f: f.start)


@given(
    st.lists(st.sampled_from(["jane@example.org", "45.33.32.156", "plain", "10.0.0.1"]), max_size=8)
)
def test_addresses_among_words_are_all_found(words: list[str]) -> None:
    expected = [w for w in words if w in ("jane@example.org", "45.33.32.156")]
    assert found(" ".join(words)) == expected


HOSTILE = {
    "dots": "a.a.a.",
    "at signs": "@@@@",
    "at signs and letters": "a@a@",
    "domains": "a@a.a.a.a.a.a.a.a.a.a.",
    "hyphens": "a@-",
    "long local part": "a",
    "long domain": "a@" + "b" * 63 + ".",
    "digits and dots": "1.1.1.",
    "digits": "1",
    "colons": ":",
    "hex and colons": "f:f:",
    "spaced colons": " ::",
    "version words": "version 1.1.1.1 ",
    "spaces": "version  ",
}
HOSTILE_NUMBERS = {
    "numbers": "+49 30 1 ",
    "groups": "1 1 1 1 1 1 1 1 ",
    "brackets": "(1)(1)",
    "cards": "4111 1111 1111 1111 ",
    "words for telephone": "tel 1234567 fax ",
    "accounts": "DE89 3704 ",
    "letters and digits": "AB 12 34 56 ",
    "tokens": "eyJ-eyJ.",
    "keys": "sk-aB3-",
    "headers": "-----BEGIN PRIVATE KEY-----\n",
    "lines of a key": "-----BEGIN PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEAwJal\n" * 40,
    "assignments": "key='a1B2",
    "equal signs": "=",
    "right to left": "הטלפון 03-1234567 ",
    "lone surrogates": "\ud8001@",
}


def cost(text: str) -> float:
    """CPU seconds of a scan, the best of some."""
    best = float("inf")
    for _ in range(4):
        started = time.thread_time()
        find_personal_data(text, ALL)
        best = min(best, time.thread_time() - started)
    return best


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_input_costs_linear_time(unit: str) -> None:
    """Four times the input: about 4 times the time, where backtracking would take 16 or more."""
    text = "@ ::: " + unit * (200_000 // len(unit) + 1)  # so that no scan is passed over
    assert cost(text[:200_000]) < 9 * max(cost(text[:50_000]), 1e-3)


@pytest.mark.parametrize("unit", HOSTILE_NUMBERS.values(), ids=HOSTILE_NUMBERS.keys())
def test_hostile_numbers_and_keys_cost_linear_time(unit: str) -> None:
    """The same; here every few bytes are worth a closer look, so the texts are shorter."""
    text = unit * (24_000 // len(unit) + 1)
    assert cost(text[:24_000]) < 9 * max(cost(text[:6_000]), 1e-3)


def test_a_finding_says_where_and_what() -> None:
    assert find_personal_data("to a@b.org", ALL) == [Finding(3, 10, "email")]
