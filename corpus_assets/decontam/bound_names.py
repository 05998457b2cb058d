"""Find the names that a piece of code binds: they may be renamed, whatever they are called.

Read from tokens, without a parser, since snippets are often cut and of many languages. A name is
bound as the target of an assignment, a parameter, a loop's or comprehension's variable, what `as`,
`def`, `class`, `let` and their like name, or what stands behind a type. One binding frees the name
in the whole piece: scopes are not followed, and a name that is both bound and a builtin there is
compared by its place instead of its spelling, which is strict enough for twenty tokens in a row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

CONTROL = frozenset(["if", "else", "for", "while", "return"])
"""Words that are never names in any language with words for them; hashed by spelling."""

_C = (
    "auto break case char const continue default do double else enum extern float for goto if int "
    "long register return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while"
)
_WORDS = {
    "python": "False None True and as assert async await break class continue def del elif else "
    "except finally for from global if import in is lambda nonlocal not or pass raise return try "
    "while with yield",
    "javascript": "await break case catch class const continue debugger default delete do else "
    "enum export extends false finally for function if import in instanceof let new null return "
    "static super switch this throw true try typeof var void while with yield",
    "java": "abstract assert boolean break byte case catch char class const continue default do "
    "double else enum extends false final finally float for goto if implements import instanceof "
    "int interface long native new null package private protected public return short static "
    "super switch synchronized this throw throws transient true try void volatile while",
    "c": _C,
    "c++": _C + " bool catch class delete explicit export false friend inline mutable namespace "
    "new operator private protected public template this throw true try typename using virtual",
    "go": "break case chan const continue default defer else fallthrough for func go goto if "
    "import interface map package range return select struct switch type var",
    "rust": "as async await break const continue crate dyn else enum extern false fn for if impl "
    "in let loop match mod move mut pub ref return self static struct super trait true type "
    "unsafe use where while",
    "ruby": "alias and begin break case class def defined do else elsif end ensure false for if "
    "in module next nil not or redo rescue retry return self super then true undef unless until "
    "when while yield",
    "php": "abstract and as break case catch class clone const continue declare default do echo "
    "else elseif extends final finally fn for foreach function global goto if implements include "
    "instanceof interface namespace new or private protected public require return static switch "
    "throw trait try use var while yield",
}
RESERVED = MappingProxyType({name: frozenset(words.split()) for name, words in _WORDS.items()})
_SAME = {"typescript": "javascript", "js": "javascript", "ts": "javascript", "cpp": "c++",
         "py": "python", "golang": "go", "rs": "rust", "rb": "ruby", "c#": "java",
         "csharp": "java", "kotlin": "java", "scala": "java"}  # fmt: skip


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DEFINES = _set("def function func fn fun class struct enum interface trait type sub proc lambda")
_DECLARES = _DEFINES | _set("as let var const val mut auto static final local my global nonlocal")
_STATEMENTS = _set("if for while switch catch foreach with until elif match")
_NO_TYPES = _set(
    "return else new throw case goto in of not and or is await yield typeof delete import from as "
    "package do instanceof extends implements use echo print"
)
_TYPES_BEHIND = _set(  # `int sum` declares nothing there
    "python ruby perl shell bash r julia elixir nim crystal awk javascript typescript go rust php "
    "swift kotlin scala"
)
_PAIRS = {")": "(", "]": "[", "}": "{"}


def reserved_words(language: str) -> frozenset[str]:
    """Return the words that a language does not allow as names; of an unknown one, those of C."""
    language = language.lower()
    return CONTROL | RESERVED.get(_SAME.get(language, language), RESERVED["c"])


@dataclass(frozen=True)
class Code:
    """Tokens of a piece of code: how each is spelled, whether it is a name, begins a line."""

    tokens: Sequence[str]
    is_name: Sequence[bool]
    is_first: Sequence[bool]
    language: str

    def bound(self) -> set[str]:
        """Return the names that it binds."""
        found = {self.tokens[i] for i in self._bound() if self._is_name(i)}
        return found - reserved_words(self.language)

    def _at(self, i: int) -> str:
        return self.tokens[i] if 0 <= i < len(self.tokens) else ""

    def _is_name(self, i: int) -> bool:
        return 0 <= i < len(self.tokens) and self.is_name[i]

    @cached_property
    def _brackets(self) -> tuple[dict[int, int], list[int]]:
        """(bracket -> its partner, the open bracket around each token or -1)"""
        partners: dict[int, int] = {}
        around, still_open = [], [-1]
        for i, token in enumerate(self.tokens):
            if token in _PAIRS and self._at(still_open[-1]) == _PAIRS[token]:
                start = still_open.pop()
                partners[start], partners[i] = i, start
            around.append(still_open[-1])
            if token in _PAIRS.values():
                still_open.append(i)
        return partners, around

    def _has_parameters(self, start: int) -> bool:
        """Whether the bracket at `start` holds parameters, by what stands before or behind it."""
        before, stop = self._at(start - 1), self._brackets[0].get(start, -2)
        if _DEFINES & {before, self._at(start - 2)}:
            return True
        if before in _STATEMENTS or stop < 0:
            return False
        behind = self._at(stop + 1) + self._at(stop + 2)
        return behind in ("=>", "->") or (behind[:1] == "{" and not self._is_call(start - 1))

    def _is_call(self, i: int) -> bool:
        """Whether a name before brackets is called there: no type or end of a block before it."""
        before = self._at(i - 1)
        is_type = self._is_name(i - 1) and before not in _NO_TYPES | _STATEMENTS
        return self._is_name(i) and not is_type and before not in ("", ">", "*", "&", "}", ";", "{")

    def _bound(self) -> Iterator[int]:
        for i, spelled in enumerate(self.tokens):
            if spelled == "(" and self._has_parameters(i):
                yield from self._parameters(i)
            elif spelled in ("for", "foreach"):
                yield from self._loop(i)
            elif spelled == "lambda":
                yield from self._until(i, ":")
            elif spelled == "|" and self._at(i - 1) in ("{", "do", "(", ",", "=", "move"):
                yield from self._until(i, "|")
            elif spelled in (")", "]", "}") and self._is_plain_assignment(i + 1):
                start = self._brackets[0].get(i, i)
                if not self._is_name(start - 1) or self._at(start - 1) in _DECLARES:
                    yield from range(start, i)
            elif self._is_name(i):
                if self._is_defined(i) or self._is_assigned(i):
                    yield i
                    yield from self._listed(i, -1)
                elif self.language not in _TYPES_BEHIND and self._is_declared(i):
                    yield i
                    yield from self._listed(i, 1)

    def _is_defined(self, i: int) -> bool:
        before, behind = self._at(i - 1), self._at(i + 1)
        if before in _DEFINES or (behind == "(" and self._has_parameters(i + 1)):
            return True
        is_type = self._is_name(i + 1) or behind == "<" or behind + self._at(i + 2) == "::"
        return before in _DECLARES and not is_type

    def _parameters(self, start: int) -> Iterator[int]:
        """Of each parameter the name: the last one before a default or a type behind a colon."""
        partners, around = self._brackets
        names: list[int] = []
        is_over = False
        stop = partners.get(start, len(self.tokens))
        for i in range(start + 1, stop + 1):
            if i == stop or (around[i] == start and self.tokens[i] == ","):
                yield from names[:1] if self.language == "go" else names[-1:]
                names, is_over = [], False
            elif around[i] == start and (self.tokens[i] == "=" or self._is_colon(i)):
                is_over = True
            elif self._is_name(i) and not is_over:
                if around[i] == start:
                    names.append(i)
                elif not names and self._at(around[i]) in ("{", "["):
                    yield i  # a pattern

    def _is_colon(self, i: int) -> bool:
        return self.tokens[i] == ":" and ":" not in (self._at(i - 1), self._at(i + 1))

    def _loop(self, start: int) -> Iterator[int]:
        for i in range(start + 1, min(start + 24, len(self.tokens))):
            if self.tokens[i] in ("in", "of"):
                yield from range(start + 1, i)
            if self._is_colon(i):
                yield i - 1
            if self.tokens[i] in ("in", "of", "{", ";") or self._is_colon(i):
                return

    def _until(self, start: int, stop: str) -> Iterator[int]:
        """Names behind `start` or a comma, up to a token."""
        for i in range(start + 1, min(start + 40, len(self.tokens))):
            if self.tokens[i] == stop:
                return
            if self._at(i - 1) in (self.tokens[start], ",", "*", "&", "mut"):
                yield i

    def _listed(self, i: int, step: int) -> Iterator[int]:
        """Names that commas join to the one at `i`, before it or behind it."""
        while self._at(i + step) == "," and self._is_name(i + 2 * step):
            i += 2 * step
            yield i

    def _is_plain_assignment(self, i: int) -> bool:
        return self._at(i) == "=" and self._at(i + 1) not in ("=", ">", "~")

    def _is_assigned(self, i: int) -> bool:
        one, two, three = (self._at(i + n) for n in (1, 2, 3))
        around = self._brackets[1][i]
        if one == "=" and two != "=":  # `=>` binds a parameter
            if self._at(i - 1) == ":" and self._is_name(i - 2):
                return self._at(i - 2) in reserved_words(self.language)  # else it is a type
            is_argument = self._at(around) == "(" and self._at(around - 1) not in _STATEMENTS
            return two == ">" or not is_argument
        if one and two == "=" and one in "+-*/%&|^:":
            return True
        if one and one == two and (one in "+-" or (three == "=" and one in "*/<>&|?")):
            return self.language not in ("python", "ruby") or one not in "+-"
        return one == ":" and around < 0 and self.is_first[i] and self._is_name(i + 2)

    def _is_declared(self, i: int) -> bool:
        before = self._at(i - 1)
        is_type = (self._is_name(i - 1) or before == ">") and before not in _NO_TYPES
        behind = self._at(i + 1)
        return is_type and (
            behind in (";", "=", ",", "[", ")") or (behind == ":" and self._is_colon(i + 1))
        )
