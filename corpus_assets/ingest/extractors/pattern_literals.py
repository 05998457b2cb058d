"""Literals that a simple pattern cannot match without, to ask for many patterns at once."""

import re

MIN_STEM = 3

_OPTIONAL = re.compile(r"(?:\[[^\]]*\]|.)(?:[?*]|\{0[^}]*\})")
_NO_LITERAL = re.compile(r"\[[^\]]*\]|\\.|[\^$.]")


def stems_of(pattern: str) -> tuple[str, ...]:
    """Literals of which every match of a simple pattern holds one: the longest of each branch.

    Knows branches, groups, look-aheads, sets and `?`, which is what the rules are made of.
    """
    stems: list[str] = []
    for branch in branches_of(pattern):
        groups, rest = _take_groups(branch)
        runs = re.split("\0", _NO_LITERAL.sub("\0", _OPTIONAL.sub("\0", rest)))
        longest = max(runs, key=len)
        if len(longest) >= MIN_STEM:
            stems.append(longest)
            continue
        inner = [stems_of(group) for group in groups]
        if not inner:
            raise ValueError(f"pattern {branch!r} has no literal to look for")
        stems.extend(inner[0])
    return tuple(stems)


def shared_prefixes(words: list[str]) -> str:
    """Return a pattern for any of the words, the longest first, that tries a shared prefix once."""
    if words == [""]:
        return ""
    branches = [
        re.escape(char) + shared_prefixes([word[1:] for word in words if word.startswith(char)])
        for char in sorted({word[0] for word in words if word})
    ]
    joined = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
    return f"(?:{joined})?" if "" in words else joined


def branches_of(pattern: str) -> list[str]:
    """Return the branches of a pattern."""
    depth, start, branches = 0, 0, []
    for at, char in enumerate(pattern):
        depth += (char == "(") - (char == ")")
        if char == "|" and depth == 0:
            branches.append(pattern[start:at])
            start = at + 1
    return [*branches, pattern[start:]]


def _take_groups(branch: str) -> tuple[list[str], str]:
    """Return groups that must match, and the branch with a gap for each group."""
    groups, rest, depth, start = [], "", 0, 0
    for at, char in enumerate(branch):
        if char == "(":
            start = at if depth == 0 else start
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                rest += "\0"
                group = branch[start + 1 : at]
                if not group.startswith("?!") and branch[at + 1 : at + 2] != "?":
                    groups.append(group.removeprefix("?:"))
        elif depth == 0:
            rest += char
    return groups, rest.replace("\0?", "\0")
