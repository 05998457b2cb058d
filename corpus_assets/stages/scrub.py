"""Personal data out of text: e-mail addresses and public IP addresses.

Patterns start only where a run of their characters starts and bound every repetition, so the
scan is linear on any input. Private, reserved and version-like numbers are left alone.
"""

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass

from corpus_assets.step import Settings

EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}"
    r"(?![A-Za-z0-9])"
)
# What may touch an address is ASCII only: in Chinese or Japanese no space stands around it.
IPV4 = re.compile(r"(?<![A-Za-z0-9_.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![A-Za-z0-9_]|\.[0-9])")
# Public IPv6 is 2000::/3 so far; `Face::Bad` of a programming language is outside it.
IPV6 = re.compile(
    r"(?<![A-Za-z0-9_:.])[23][0-9A-Fa-f]{3}(?::[0-9A-Fa-f]{0,4}){2,7}(?![A-Za-z0-9_:])"
)
VERSION_WORD = re.compile(r"\b(?:v|ver|version|release|build|firmware)[.:]?\s{0,2}$", re.IGNORECASE)


class ScrubSettings(Settings):
    """What is replaced, and by what."""

    emails: bool = True
    public_ips: bool = True
    email_placeholder: str = "<email>"
    ip_placeholder: str = "<ip>"


@dataclass(frozen=True)
class Finding:
    """Characters [start, end) of a text are personal data of a kind."""

    start: int
    end: int
    kind: str  # email or ip


def find_personal_data(text: str, settings: ScrubSettings) -> list[Finding]:
    """Findings in order of place, none overlapping."""
    found: list[Finding] = []
    if settings.emails and "@" in text:
        found.extend(Finding(m.start(), m.end(), "email") for m in EMAIL.finditer(text))
    if settings.public_ips:
        found.extend(Finding(start, end, "ip") for start, end in _public_ips(text))
    found.sort(key=lambda finding: finding.start)
    kept: list[Finding] = []
    for finding in found:
        if not kept or finding.start >= kept[-1].end:
            kept.append(finding)
    return kept


def _public_ips(text: str) -> Iterator[tuple[int, int]]:
    patterns = [IPV4] if "::" not in text and text.count(":") < 2 else [IPV4, IPV6]
    for pattern in patterns:
        for match in pattern.finditer(text):
            if VERSION_WORD.search(text, max(0, match.start() - 12), match.start()):
                continue
            try:
                address = ipaddress.ip_address(match.group())
            except ValueError:
                continue
            if address.is_global and not address.is_multicast:
                yield match.span()
