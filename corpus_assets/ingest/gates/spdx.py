"""SPDX licence expressions: `MIT OR (Apache-2.0 WITH LLVM-exception AND CC-BY-4.0)`.

Read by SPDX 2.3, annex D: `WITH` binds tighter than `AND`, `AND` tighter than `OR`; identifiers
are compared without regard to case, operators are in capitals or in small letters. Old names
(`GPL-2.0`, `GPL-2.0+`) are read as the current ones.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

MAX_EXPRESSION_CHARS = 1000
MAX_DEPTH = 32

_TOKEN = re.compile(r"\s*([()]|[A-Za-z0-9.:+-]{1,100})\s*")
_GNU = re.compile(r"((?:a|l)?gpl-\d\.\d|gfdl-\d\.\d)(\+?)", re.IGNORECASE)
_PORT = re.compile(r"(cc-(?:by|by-sa|by-nd|by-nc|by-nc-sa|by-nc-nd)-\d\.\d)-[a-z]{2,3}")


class Term(NamedTuple):
    """A licence (`names` is one identifier), or terms joined by AND or OR."""

    operator: Literal["AND", "OR"] | None
    names: tuple[str, ...]  # identifier, and the exception after WITH where there is one
    terms: tuple["Term", ...] = ()


class _Malformed(Exception):
    """Not an expression."""


@lru_cache(maxsize=4096)
def parse_spdx(expression: str) -> Term | None:
    """Return the expression as a tree; None when it is not one."""
    try:
        tokens = _tokens(expression)
        term, end = _alternatives(tokens, 0, 0)
    except _Malformed:
        return None
    return term if end == len(tokens) else None


def allows(expression: str, allowed: Iterable[str]) -> bool:
    """Whether what is allowed covers an expression: any side of an OR, both sides of an AND.

    A licence WITH an exception is covered by the licence alone: exceptions only permit more. A
    ported Creative Commons licence (`CC-BY-3.0-DE`) is covered by the one it is a port of.
    """
    names = frozenset(current_name(name) for name in allowed)
    term = parse_spdx(expression)
    return current_name(expression) in names if term is None else _allows(term, names)


def current_name(name: str) -> str:
    """An identifier in lower case, old names of the GNU licences by their current ones."""
    name = " ".join(name.split()).lower()
    old = _GNU.fullmatch(name)
    if old is not None:
        return f"{old[1]}-or-later" if old[2] else f"{old[1]}-only"
    return name


def _allows(term: Term, names: frozenset[str]) -> bool:
    if term.operator == "OR":
        return any(_allows(each, names) for each in term.terms)
    if term.operator == "AND":
        return all(_allows(each, names) for each in term.terms)
    name = current_name(term.names[0])
    if len(term.names) > 1 and f"{name} with {term.names[1].lower()}" in names:
        return True
    ported = _PORT.fullmatch(name)
    return name in names or (ported is not None and ported[1] in names)


def _tokens(expression: str) -> list[str]:
    if not expression.strip() or len(expression) > MAX_EXPRESSION_CHARS:
        raise _Malformed
    tokens, at = [], 0
    while at < len(expression):
        found = _TOKEN.match(expression, at)
        if found is None:
            raise _Malformed
        tokens.append(found[1])
        at = found.end()
    return tokens


def _alternatives(tokens: list[str], at: int, depth: int) -> tuple[Term, int]:
    return _joined(tokens, at, depth, "OR")


def _joined(
    tokens: list[str], at: int, depth: int, operator: Literal["AND", "OR"]
) -> tuple[Term, int]:
    terms = []
    while True:
        if operator == "OR":
            term, at = _joined(tokens, at, depth, "AND")
        else:
            term, at = _licence(tokens, at, depth)
        terms.append(term)
        if at >= len(tokens) or tokens[at] not in (operator, operator.lower()):
            return (terms[0] if len(terms) == 1 else Term(operator, (), tuple(terms))), at
        at += 1


def _licence(tokens: list[str], at: int, depth: int) -> tuple[Term, int]:
    name = _at(tokens, at)
    if name == "(":
        if depth >= MAX_DEPTH:
            raise _Malformed
        term, at = _alternatives(tokens, at + 1, depth + 1)
        if _at(tokens, at) != ")":
            raise _Malformed
        return term, at + 1
    if name == ")" or _is_operator(name):
        raise _Malformed
    if at + 1 < len(tokens) and tokens[at + 1] in ("WITH", "with"):
        exception = _at(tokens, at + 2)
        if exception in "()" or _is_operator(exception):
            raise _Malformed
        return Term(None, (name, exception)), at + 3
    return Term(None, (name,)), at + 1


def _at(tokens: list[str], at: int) -> str:
    if at >= len(tokens):
        raise _Malformed
    return tokens[at]


def _is_operator(token: str) -> bool:
    return token.upper() in ("AND", "OR", "WITH")
