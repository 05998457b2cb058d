"""Addresses as what they mean, and the many ways in which people and crawls write one."""

import random
from dataclasses import dataclass
from urllib.parse import quote

ODD = "!$&'()*+,:;=@[] é/?#%"
"""Characters that are written in several ways, or that mean something else when they are bare."""


@dataclass(frozen=True)
class Address:
    """What a server reads: segments of a path, and parameters in any order."""

    host: str
    segments: tuple[str, ...]
    parameters: frozenset[tuple[str, str]]

    def written(self, draw: random.Random) -> str:
        """One spelling of it: each character bare, where that means the same, or escaped."""
        path = "/".join(_written(s, "/?#%", draw) for s in self.segments)
        items = [
            f"{_written(name, '&#%+=', draw, True)}={_written(value, '&#%+', draw, True)}"
            for name, value in self.parameters
        ]
        draw.shuffle(items)
        return f"http://{self.host}/{path}" + (f"?{'&'.join(items)}" if items else "")


def _written(text: str, never_bare: str, draw: random.Random, in_query: bool = False) -> str:
    return "".join(_char(char, never_bare, draw, in_query) for char in text)


def _char(char: str, never_bare: str, draw: random.Random, in_query: bool) -> str:
    if char == " " and in_query and draw.random() < 0.5:
        return "+"
    if char in never_bare or draw.random() < 0.4:
        escaped = quote(char, safe="")
        escaped = escaped if "%" in escaped else f"%{ord(char):02X}"
        return escaped.lower() if draw.random() < 0.3 else escaped
    return char


def draw_address(draw: random.Random, host: str) -> Address:
    segments = tuple(_word(draw) for _ in range(draw.randint(1, 3)))
    names = draw.sample("pqrs", draw.choice((0, 0, 1, 2)))
    parameters = frozenset((_word(draw) if name == "s" else name, _word(draw)) for name in names)
    return Address(host, segments, parameters)


def _word(draw: random.Random) -> str:
    """With a letter at its end: a bare space there would belong to nobody."""
    return "".join(draw.choice(ODD if draw.random() < 0.3 else "ab") for _ in range(4)) + "z"
