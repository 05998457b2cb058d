"""Keys and tokens that open something: in programs, logs and settings that were published.

Services mark their tokens with a prefix so that such searches can find them; each entry here is
a prefix and the shape behind it. `secret` is the rest: what a program assigns to a name such as
`password` or `api_key` and that looks random. It is left alone unless a recipe asks for it.
"""

import re
from collections.abc import Callable

from corpus_assets.scrub.emails import MAIL_WORDS, SHOUTED_AT, SPELLED_AT
from corpus_assets.scrub.kernels.triggers import MARK, NUMBER, VALUE
from corpus_assets.scrub.rule import PatternRule, Span, leads

MAX_KEY_BYTES = 20_000
_END = rb"(?![A-Za-z0-9_])"

_TOKENS: tuple[tuple[str, tuple[bytes, ...], bytes], ...] = (
    ("aws_access_key", (b"AKIA", b"ASIA"), rb"A[KS]IA[A-Z0-9]{16}" + _END),
    (
        "github",
        (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"),
        rb"gh[pousr]_[A-Za-z0-9]{36,255}" + _END,
    ),
    ("github_fine", (b"github_pat_",), rb"github_pat_[A-Za-z0-9_]{50,255}" + _END),
    ("gitlab", (b"glpat-",), rb"glpat-[A-Za-z0-9_-]{20,64}(?![A-Za-z0-9_-])"),
    ("slack", (b"xox", b"xapp-"), rb"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,250}(?![A-Za-z0-9-])"),
    (
        "slack_hook",
        (b"hooks.slack.com/services/",),
        rb"hooks\.slack\.com/services/T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{20,32}" + _END,
    ),
    ("google_api", (b"AIza",), rb"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("google_oauth", (b"GOCSPX-",), rb"GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])"),
    ("google_token", (b"ya29.",), rb"ya29\.[A-Za-z0-9_-]{30,400}(?![A-Za-z0-9_-])"),
    (
        "stripe",
        (b"sk_live_", b"rk_live_", b"sk_test_", b"rk_test_"),
        rb"[sr]k_(?:live|test)_[A-Za-z0-9]{16,247}" + _END,
    ),
    ("stripe_hook", (b"whsec_",), rb"whsec_[A-Za-z0-9]{24,64}" + _END),
    (
        "json_web_token",
        (b"eyJ",),
        rb"eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{4,6000}\.[A-Za-z0-9_-]{10,1000}"
        rb"(?![A-Za-z0-9_-])",
    ),
    ("hugging_face", (b"hf_",), rb"hf_[A-Za-z0-9]{34,40}" + _END),
    ("npm", (b"npm_",), rb"npm_[A-Za-z0-9]{36}" + _END),
    ("pypi", (b"pypi-AgE",), rb"pypi-AgE[A-Za-z0-9_-]{50,500}(?![A-Za-z0-9_-])"),
    ("sendgrid", (b"SG.",), rb"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    ("digitalocean", (b"dop_v1_", b"doo_v1_", b"dor_v1_"), rb"do[opr]_v1_[a-f0-9]{64}" + _END),
    (
        "shopify",
        (b"shpat_", b"shpca_", b"shppa_", b"shpss_"),
        rb"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}" + _END,
    ),
    ("age", (b"AGE-SECRET-KEY-1",), rb"AGE-SECRET-KEY-1[A-Z0-9]{58}" + _END),
)


def _random_looking(doc: bytes, match: re.Match[bytes]) -> Span | None:
    """Capitals, small letters and digits: no name of a style sheet or a part."""
    key = match.group()
    mixed = all(re.search(kind, key) for kind in (rb"[A-Z]", rb"[a-z]", rb"[0-9]"))
    return match.span() if mixed else None


_PEM_HEAD = re.compile(rb"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_TAIL = re.compile(rb"-----END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_LINES = re.compile(rb"(?:[A-Za-z0-9+/=]{16,128}(?:\r?\n|\\n|[ \t]|\Z)+){1,400}")


def _private_key(doc: bytes, match: re.Match[bytes]) -> Span | None:
    """From BEGIN to END. Where the end is cut off: as far as lines of base64 go."""
    start, head_end = match.span()
    dashes = doc.find(b"-----", head_end, head_end + MAX_KEY_BYTES)
    if dashes >= 0:
        tail = _PEM_TAIL.match(doc, dashes)
        if tail:
            return start, tail.end()
    body = re.compile(rb"(?:\s|\\n){0,4}").match(doc, head_end)
    lines = _PEM_LINES.match(doc, body.end() if body else head_end)
    return (start, lines.end()) if lines else None


_NAME = re.compile(
    rb"(?:api|access|auth|secret|private|client|encryption|signing|session|bearer|account)?"
    rb"[_ .-]?(?:key|secret|token|passwd|password|passphrase|pwd|credential)s?"
    rb"[\"'\])]{0,2}[ \t]{0,3}(?:=>|:=|[=:])[ \t]{0,3}[\"']?\Z",
    re.IGNORECASE,
)
_CLOUD_NAME = re.compile(
    rb"(?:aws|amazon)?[_ .-]?secret[_ .-]?(?:access)?[_ .-]?key[\"'\])]{0,2}[ \t]{0,3}"
    rb"(?:=>|:=|[=:])[ \t]{0,3}[\"']?\Z|AccountKey=\Z",
    re.IGNORECASE,
)


def _after(name: re.Pattern[bytes]) -> Callable[[bytes, re.Match[bytes]], Span | None]:
    def check(doc: bytes, match: re.Match[bytes]) -> Span | None:
        if name.search(doc, max(0, match.start() - 48), match.start()) is None:
            return None
        return _random_looking(doc, match)

    return check


MARKS: tuple[bytes, ...] = tuple(
    sorted(
        {
            *(prefix for _, prefixes, _ in _TOKENS for prefix in prefixes),
            *(b"sk-", b"-----BEGIN"),
            *SPELLED_AT,
            *SHOUTED_AT,
            *MAIL_WORDS,
        },
        key=lambda prefix: (prefix[:1], -len(prefix), prefix),
    )
)
"""Prefixes that the kernel looks for; by first byte, the longer ones first."""


def marks(*prefixes: bytes) -> frozenset[int]:
    """Return the numbers of prefixes, which the kernel gives as detail of their places."""
    return frozenset(MARKS.index(prefix) for prefix in prefixes)


RULES: tuple[PatternRule, ...] = (
    PatternRule("private_key", "private_key", MARK, _PEM_HEAD, _private_key, marks(b"-----BEGIN")),
    *(
        PatternRule(
            name,
            "api_key",
            MARK,
            re.compile(rb"(?<![A-Za-z0-9_-])" + shape),
            leads=marks(*prefixes),
        )
        for name, prefixes, shape in _TOKENS
    ),
    PatternRule(
        "sk",
        "api_key",
        MARK,
        re.compile(rb"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{32,256}(?![A-Za-z0-9_-])"),
        _random_looking,
        marks(b"sk-"),
    ),
    PatternRule(
        "telegram",
        "api_key",
        NUMBER,
        re.compile(rb"(?<![A-Za-z0-9_])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
        leads=leads((8, b":"), (9, b":"), (10, b":")),
    ),
    PatternRule(
        "cloud_secret",
        "api_key",
        VALUE,
        re.compile(rb"[A-Za-z0-9+/]{40}(?:[A-Za-z0-9+/]{46}==)?(?![A-Za-z0-9+/=])"),
        _after(_CLOUD_NAME),
    ),
    PatternRule(
        "assigned",
        "secret",
        VALUE,
        re.compile(rb"[A-Za-z0-9+/_.-][A-Za-z0-9+/=_.-]{15,255}(?![A-Za-z0-9+/=_.-])"),
        _after(_NAME),
    ),
)
