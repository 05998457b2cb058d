"""TeX from pieces: what stands between two of them, and when one needs braces."""

import re
from collections.abc import Iterable

_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_LETTERS = re.compile(r"[A-Za-z]'*")
_BRACE = re.compile(r"[\\{}](?:(?<=\\).)?", re.DOTALL)
_COMMAND = re.compile(r"\\(?:[A-Za-z]+|[^A-Za-z])")
_FENCES = {"(": ")", "[": "]", r"\{": r"\}", r"\langle": r"\rangle", r"\lfloor": r"\rfloor", r"\lceil": r"\rceil"}  # fmt: skip


def join(parts: Iterable[str]) -> str:
    """Pieces in a row: a space after a command before a letter, and after a script of one
    character; a thin space between two numbers."""
    written: list[str] = []
    last = ""
    for part in parts:
        if not part:
            continue
        if last and part[0].isalnum():
            if last[-1].isdigit() and part[0].isdigit() and last[-2:-1] not in ("^", "_"):
                written.append(r"\,")
            elif last[-2:-1] in ("^", "_") or (part[0].isalpha() and ends_with_command(last)):
                written.append(" ")
        written.append(part)
        last = part
    return "".join(written)


def concatenate(parts: Iterable[str]) -> str:
    """The characters of one token: a space after a command before a letter."""
    written: list[str] = []
    for part in parts:
        if part and written and part[0].isalpha() and ends_with_command(written[-1]):
            written.append(" ")
        written += [part] if part else []
    return "".join(written)


def ends_with_command(tex: str) -> bool:
    """Whether a letter that followed would become part of a command's name."""
    if not tex[-1].isalpha() or not tex[-1].isascii():
        return False
    name = tex[tex.rfind("\\") + 1 :]
    return len(name) < len(tex) and name.isalpha() and name.isascii()


def is_one_group(tex: str, start: int = 0) -> bool:
    """Whether `tex[start:]` is one pair of braces with what stands between them."""
    if tex[start : start + 1] != "{" or tex[-1] != "}":
        return False
    depth = 0
    for mark in _BRACE.finditer(tex, start):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
            if depth == 0:
                return mark.end() == len(tex)
    return False


def base_of(tex: str) -> str:
    """What a script is set on: in braces where it would be set on the last part alone."""
    if not tex:
        return "{}"
    if (
        len(tex) == 1
        or _NUMBER.fullmatch(tex)
        or _LETTERS.fullmatch(tex)
        or _COMMAND.fullmatch(tex)
    ):
        return tex
    if tex[0] == "\\" and (brace := tex.find("{")) > 0 and tex[1:brace].isalpha():
        if is_one_group(tex, brace):
            return tex
    elif is_one_group(tex):
        return tex
    return tex if _is_fenced(tex) else f"{{{tex}}}"


def _is_fenced(tex: str) -> bool:
    """Whether it is one pair of brackets with what stands between them."""
    for opening, closing in _FENCES.items():
        if tex.startswith(opening) and tex.endswith(closing):
            inner = tex[len(opening) : len(tex) - len(closing)]
            return opening not in inner and closing not in inner
    return tex[0] == tex[-1] == "|" and tex.count("|") == 2


def argument(tex: str) -> str:
    """What follows `^` or `_`: in braces unless it is one character."""
    return tex if len(tex) == 1 else f"{{{tex}}}"


def with_scripts(base: str, sub: str = "", sup: str = "") -> str:
    """A base that needs no braces more, with its scripts; primes stand before them."""
    primes = ""
    if sup and not sup.strip("'"):
        primes, sup = sup, ""
    written = base + primes
    if sub:
        written += f"_{argument(sub)}"
    if sup:
        written += f"^{argument(sup)}"
    return written
