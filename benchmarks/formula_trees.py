"""Formulas of our own making, as trees of what they mean: parts of `formulas.py`.

Some are known to everybody and written down here, the rest are drawn from a small grammar. A tree
says no form: `formula_layout` says where its parts stand.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Node:
    """A kind, a name or number where it has one, and what it is made of."""

    kind: str
    text: str = ""
    parts: tuple["Node", ...] = ()

    def all(self) -> Iterator["Node"]:
        """It and all nodes below."""
        yield self
        for part in self.parts:
            yield from part.all()


def _maker(kind: str) -> Callable[..., Node]:
    return lambda *parts: Node(kind, "", tuple(map(of, parts)))


def of(given: Node | str | int) -> Node:
    """A number or a symbol as a node."""
    if isinstance(given, Node):
        return given
    if isinstance(given, int) or given.replace(".", "").isdigit():
        return Node("num", str(given))
    return Node("sym", given)


plus, times, minus, over, power, index = map(_maker, ("sum", "prod", "neg", "frac", "pow", "index"))
sqrt, root, bar, hat, vec, absolute, factorial = map(
    _maker, ("sqrt", "root", "bar", "hat", "vec", "abs", "fact")
)
binom, limit, integral, derivative, cells, mixed = map(
    _maker, ("binom", "lim", "int", "deriv", "cells", "mixed")
)
"""`limit` and `integral`: the variable, its bounds, the body; `derivative`: of what, by what."""


def big(sign: str, *parts: Node | str | int) -> Node:
    """A sum or product: the variable, its bounds, the body."""
    return Node("big", sign, tuple(map(of, parts)))


def function(name: str, argument: Node | str | int) -> Node:
    """`sin x`: a function that has a name of more letters."""
    return Node("func", name, (of(argument),))


def call(name: str, *arguments: Node | str | int) -> Node:
    """`f(x, y)`."""
    return Node("call", name, tuple(map(of, arguments)))


def relation(sign: str, left: Node | str | int, right: Node | str | int) -> Node:
    """`a = b`."""
    return Node("rel", sign, (of(left), of(right)))


def equal(left: Node | str | int, right: Node | str | int) -> Node:
    return relation("=", left, right)


def matrix(*rows: Node) -> Node:
    return Node("matrix", "", rows)


def cases(*pieces: Node) -> Node:
    """Pieces of a value and when it holds."""
    return Node("cases", "", pieces)


def square(base: Node | str | int) -> Node:
    return power(base, 2)


KNOWN = (
    equal("E", times("m", square("c"))),
    equal(plus(square("a"), square("b")), square("c")),
    equal("x", over(plus(minus("b"), sqrt(plus(square("b"), minus(times(4, "a", "c"))))), times(2, "a"))),
    equal(plus(power("e", times("i", "π")), 1), 0),
    equal(function("sin", times(2, "θ")), times(2, function("sin", "θ"), function("cos", "θ"))),
    equal(integral("x", minus("∞"), "∞", power("e", minus(square("x")))), sqrt("π")),
    equal(big("∑", "k", 1, "n", "k"), over(times("n", plus("n", 1)), 2)),
    equal(big("∑", "n", 1, "∞", over(1, square("n"))), over(square("π"), 6)),
    equal(limit("n", "∞", power(plus(1, over(1, "n")), "n")), "e"),
    equal(power(plus("x", "y"), "n"), big("∑", "k", 0, "n", times(binom("n", "k"), power("x", "k"), power("y", plus("n", minus("k")))))),
    equal(binom("n", "k"), over(factorial("n"), times(factorial("k"), factorial(plus("n", minus("k")))))),
    equal(call("P", "A"), over(times(call("P", "B"), call("Q", "A")), call("P", "C"))),
    equal("F", over(times("G", index("m", 1), index("m", 2)), square("r"))),
    equal("σ", sqrt(over(big("∑", "i", 1, "N", square(plus(index("x", "i"), minus("μ")))), "N"))),
    equal(bar("x"), times(over(1, "n"), big("∑", "i", 1, "n", index("x", "i")))),
    equal(hat("y"), plus(times(index("β", 1), "x"), index("β", 0))),
    equal(vec("F"), times("m", vec("a"))),
    equal(derivative(square("x"), "x"), times(2, "x")),
    equal("L", times(index("L", 0), sqrt(plus(1, minus(over(square("v"), square("c"))))))),
    equal(call("f", "x"), times(over(1, times("σ", sqrt(times(2, "π")))), power("e", minus(over(square(plus("x", minus("μ"))), times(2, square("σ"))))))),
    equal(index("F", plus("n", 2)), plus(index("F", plus("n", 1)), index("F", "n"))),
    equal(plus(over(1, "u"), over(1, "v")), over(1, "f")),
    equal(root("x", 3), power("x", over(1, 3))),
    equal(function("ln", times("x", "y")), plus(function("ln", "x"), function("ln", "y"))),
    equal("A", matrix(cells("a", "b"), cells("c", "d"))),
    equal(absolute("x"), cases(cells("x", relation("≥", "x", 0)), cells(minus("x"), relation("<", "x", 0)))),
    relation("≤", absolute(plus("x", "y")), plus(absolute("x"), absolute("y"))),
    relation("∈", sqrt(2), "ℝ"),
    equal("λ", over(plus(1, sqrt(5)), 2)),
    equal(over("a", over("b", "c")), over(times("a", "c"), "b")),
)  # fmt: skip
MIXED = tuple(
    mixed(whole, over(above, below))
    for whole in (1, 2, 3, 12)
    for above, below in ((1, 2), (1, 4), (3, 4), (1, 3), (2, 3), (5, 8))
)

LETTERS, INDEXES, GREEK = "abcpqrstuvwxyz", "ijkn", "αβγδθλμπσω"
FUNCTIONS = ("sin", "cos", "tan", "log", "ln")


def formulas(number: int, seed: int) -> list[Node]:
    """So many formulas, all different: the known ones, mixed numbers, and drawn ones, every second
    of which has powers and indexes alone."""
    random = Random(seed)
    made = dict.fromkeys((KNOWN + MIXED)[:number])
    while len(made) < number:
        made[_drawn(random, is_plain=len(made) % 2 == 0)] = None
    return list(made)


def _drawn(random: Random, is_plain: bool) -> Node:
    """A statement with something that its letters alone would lose."""
    while True:
        right = _sum(random, is_plain, random.choice((1, 1, 2)))
        sign = random.choice("==≤<≥≠≈")
        left = random.choice((_symbol(random), call("f", _symbol(random)), _index(random)))
        drawn = relation(sign, left, right) if random.random() < 0.7 else right
        if any(each.kind not in _FLAT for each in drawn.all()):
            return drawn


_FLAT = ("num", "sym", "sum", "prod", "neg", "rel", "call")


def _symbol(random: Random) -> Node:
    return of(random.choice(GREEK if random.random() < 0.25 else LETTERS))


def _index(random: Random) -> Node:
    letter = random.choice(INDEXES)
    below = random.choice((of(letter), of(random.randint(0, 12)), plus(letter, 1)))
    return index(_symbol(random), below)


def _atom(random: Random) -> Node:
    return random.choice(
        (_symbol(random), _symbol(random), of(random.randint(2, 12)), _index(random))
    )


def _sum(random: Random, is_plain: bool, depth: int) -> Node:
    parts = [_product(random, is_plain, depth) for _ in range(random.choice((1, 2, 2, 3)))]
    if len(parts) == 1:
        return parts[0]
    return plus(parts[0], *(minus(each) if random.random() < 0.4 else each for each in parts[1:]))


def _product(random: Random, is_plain: bool, depth: int) -> Node:
    parts = [_factor(random, is_plain, depth) for _ in range(random.choice((1, 1, 2)))]
    if random.random() < 0.3:
        parts.insert(0, of(random.randint(2, 9)))
    parts[1:] = [each if each.kind != "num" else _symbol(random) for each in parts[1:]]
    return times(*parts) if len(parts) > 1 else parts[0]


def _factor(random: Random, is_plain: bool, depth: int) -> Node:
    if depth == 0:
        return _atom(random)

    def inner() -> Node:
        return _sum(random, is_plain, depth - 1)

    if is_plain:
        exponent = random.choice(
            (of(2), of(3), of("n"), plus("n", 1), minus(1), times(2, "k"), of(10))
        )
        base = random.choice(
            (_symbol(random), _symbol(random), plus(_symbol(random), _atom(random)))
        )
        return random.choice((power(base, exponent), _index(random), _atom(random)))
    return random.choice(_MAKERS)(random, inner)


_MAKERS: tuple[Callable[[Random, Callable[[], Node]], Node], ...] = (
    lambda random, inner: over(inner(), inner()),
    lambda random, inner: over(_atom(random), _atom(random)),
    lambda random, inner: power(_symbol(random), inner()),
    lambda random, inner: power(plus(_atom(random), inner()), random.randint(2, 5)),
    lambda random, inner: sqrt(inner()),
    lambda random, inner: root(inner(), random.randint(3, 5)),
    lambda random, inner: function(random.choice(FUNCTIONS), inner()),
    lambda random, inner: big(random.choice("∑∏"), random.choice("ijk"), random.randint(0, 1), random.choice("nm∞"), inner()),
    lambda random, inner: integral(random.choice("xt"), random.randint(0, 1), random.choice("a∞"), inner()),
    lambda random, inner: limit("x", random.choice("a∞"), inner()),
    lambda random, inner: absolute(inner()),
    lambda random, inner: random.choice((bar, hat, vec))(random.choice(LETTERS)),
    lambda random, inner: binom("n", random.choice("kr")),
    lambda random, inner: derivative(call(random.choice("fgh"), "x"), "x"),
    lambda random, inner: factorial(random.choice((of("n"), plus("n", minus("k"))))),
    lambda random, inner: matrix(cells(_atom(random), _atom(random)), cells(_atom(random), _atom(random))),
)  # fmt: skip
