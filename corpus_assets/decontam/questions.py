"""Find the question inside an item, so that a page that quotes it alone is found.

Suites write a question with its choices in many layouts: lettered or numbered, on lines of their
own or in one line, with bullets or bare, behind a passage, with labels (`Question:`, `Answer:`).
Layout alone says where choices begin, in any language:

1. markers that count from the first letter, number or numeral on: `A.`, `(a)`, `1)`, `[i]`, `①`;
2. lines at the end that begin alike: bullets, or one word;
3. bare lines: the answer is one of them, or it is a letter or number that counts them, or the line
   before them ends in a question mark.

What stands before them is the stem. Its labels are taken off; where a passage comes first, the
part that asks is found as well, by its label or as the last line.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence

_ALPHABETS = (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "abcdefghijklmnopqrstuvwxyz",
    tuple(str(n) for n in range(1, 31)),
    ("I", "II", "III", "IV", "V", "VI", "VII", "VIII"),
    ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii"),
    "АБВГДЕ",
    "абвгде",
    "ΑΒΓΔΕ",
    "αβγδε",
    "أبجده",
    "アイウエオ",
    "가나다라마",
    "甲乙丙丁戊",
)
_SYMBOLS = sorted({symbol for letters in _ALPHABETS for symbol in letters}, key=len, reverse=True)
_MARKER = re.compile(
    rf"(?P<line>(?:^|\n)[ \t*_>-]*)?(?<![\w.$\\])(?P<open>[(\[]?)(?P<symbol>{'|'.join(_SYMBOLS)})"
    r"(?P<close>\)|\]|[.:](?!\d)|、|[ \t]+[-–—](?=\s))"
)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af]{7}")
_CIRCLED = {0x2460 + i: f"({i + 1})" for i in range(20)}
_BULLETS = "-*•–—·◦▪‣○●□"
_LABEL = re.compile(
    r"[#*_>\s]*(?:<\w{1,20}>|(?P<words>\w+(?:[ \t]\w+){0,4})\s*[*_]*:(?!//)[*_]*)[ \t]*"
)
_NUMBER = re.compile(r"[#*_\s]*(?:\w+\s)?[(\[]?\d{1,4}[.):\]][*_]*\s+(?=\D)")
_HEAD_BEHIND = re.compile(
    r"((?<=[?.!…。])\s*\w+(?:[ \t]\w+){0,4}|\s(answer )?(choices|options|answers))\s*:\s*$", re.I
)
_ASKING_LABELS = (
    "question questions q query problem frage pregunta pergunta domanda vraag pytanie otázka "
    "kérdés soru вопрос питання ερώτηση سؤال السؤال प्रश्न 问题 题目 問題 質問 질문 문제"
)
_ASKS = frozenset(_ASKING_LABELS.split())
_ASKS_INLINE = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(_ASKS))})\s*:\s*", re.IGNORECASE)
_ASKING = "?؟՞፧"  # not in quotes: that is speech
_ENDS_ASKING = re.compile(rf"[{_ASKING}][)\]}}*_\s]*(?:</\w+>)?$")
_MAX_WORDS_BEHIND = 12  # of an instruction behind the question mark: `Choose one answer:`


def find_questions(
    text: str,
    answer: str = "",
    parts: Sequence[str] = (),
    *,
    is_stem: bool = False,
    min_words_unmarked: int = 13,
) -> list[str]:
    """Return what may be quoted of an item without its choices, each text once: parts of `text`
    in NFKC. None where nothing tells a question from the rest.

    `parts`: the fields of which `text` is made, in order; `is_stem`: its choices are elsewhere. A
    last line that asks, with neither choices nor labels about it, is often the end of a longer
    problem: it counts from `min_words_unmarked` words on.
    """
    text = unicodedata.normalize("NFKC", text.translate(_CIRCLED)).strip()
    stems = [text] if is_stem else _stems(text, answer)
    fields = [unicodedata.normalize("NFKC", part).strip() for part in parts]
    stems += [part for part in fields if _ENDS_ASKING.search(part)] or fields[-1:]
    found: dict[str, None] = {}
    for stem in stems:
        lines = _without_heads_behind(stem)
        stem = "\n".join(lines)
        found.update(dict.fromkeys([_unlabelled(stem), *_asking_parts(stem)]))
        found[_unlabelled(lines[-1])] = None
        found[_unlabelled(_HEAD_BEHIND.sub("", stem))] = None
        end = max(stem.rfind(mark) for mark in _ASKING) + 1
        if end and 0 < len(stem[end:].split()) <= _MAX_WORDS_BEHIND:
            found[_unlabelled(stem[:end])] = None
    if not stems:
        found.update(dict.fromkeys(_asking_parts(text)))
        last = text.splitlines()[-1].strip() if text else ""
        if _ENDS_ASKING.search(last) and len(last.split()) >= min_words_unmarked:
            found[_unlabelled(last)] = None
    return [question for question in found if question and question != text]


def _stems(text: str, answer: str) -> list[str]:
    """Return what stands before the choices: lines with markers are clear, all else may be."""
    found = list(_before_markers(text, is_line=True))
    if not found:
        found = [_before_list(text)]
        found = found if found[0] else _before_bare_lines(text, answer)
        found += _before_markers(text, is_line=False)
    return [stem for stem in dict.fromkeys(found) if stem]


def _before_markers(text: str, *, is_line: bool) -> Iterator[str]:
    """Return what stands before the longest run of each kind of marker, at lines or in them."""
    styles: dict[tuple[str, str], list[re.Match[str]]] = {}
    for match in _MARKER.finditer(text):
        at_line = match["line"] is not None
        if at_line or (not is_line and _may_stand_in_line(text, match)):
            styles.setdefault((match["open"], match["close"].strip()), []).append(match)
    for matches in styles.values():
        for alphabet in _ALPHABETS:
            length, start = _longest_run(text, matches, alphabet)
            if length > 1:
                yield text[:start].strip()


def _may_stand_in_line(text: str, match: "re.Match[str]") -> bool:
    """Brackets may stand anywhere; a letter with a point behind is followed by space."""
    after = text[match.end() : match.end() + 1]
    is_apart = not after or after.isspace() or not after.isascii()
    return bool(match["open"]) or (is_apart and match["close"] in ").、")


def _longest_run(
    text: str, matches: "list[re.Match[str]]", alphabet: "str | tuple[str, ...]"
) -> tuple[int, int]:
    """(markers, where the first stands), of equally long runs the last; words between markers."""
    places = {symbol: [m for m in matches if m["symbol"] == symbol] for symbol in alphabet[:2]}
    best = (0, 0)
    for first in places[alphabet[0]] if places[alphabet[1]] else ():
        at, length = first, 1
        for symbol in alphabet[1:]:
            later = (m for m in matches if m["symbol"] == symbol and m.start() >= at.end())
            following = next(later, None)
            if following is None or not re.search(r"\w", text[at.end() : following.start()]):
                break
            at, length = following, length + 1
        best = max(best, (length, first.start()))
    return best


def _before_list(text: str) -> str:
    """Return what stands before lines at the end that begin alike, "" where they do not."""
    lines = [line for line in text.splitlines() if line.strip()]
    while len(lines) > 1 and _is_label(lines[-1]):
        lines.pop()
    keys = [_beginning(line) for line in lines]
    size = sum(1 for _ in itertools.takewhile(lambda key: key == keys[-1], reversed(keys)))
    stem = lines[: len(lines) - size]
    if size < 2 or not stem or not keys[-1]:
        return ""
    is_clear = keys[-1] in _BULLETS or len(stem) == 1 or bool(re.search(r"[?:]\W*$", stem[-1]))
    return "\n".join(stem) if is_clear else ""


def _beginning(line: str) -> str:
    line = line.strip()
    if line[0] in _BULLETS:
        return line[0] if line[1:2].isspace() else ""
    word = re.match(r"[^\W\d]+", line)
    return word[0].lower() if word else ""


def _before_bare_lines(text: str, answer: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = len(lines) - 1
    answer = " ".join(unicodedata.normalize("NFKC", answer).split()).casefold()
    with_answer = [n for n in range(1, len(lines)) if answer in _choices_of(lines[n])]
    if with_answer:
        last = with_answer[-1]
    asking = [n for n in range(last) if _ENDS_ASKING.search(lines[n])]
    asking = asking or [n for n in range(last) if with_answer and lines[n].endswith(":")]
    if not asking and last > 0 and (with_answer or _counts_lines(answer, len(lines) - 1)):
        asking = [0]
    return ["\n".join(lines[: n + 1]) for n in dict.fromkeys([*asking[:1], *asking[-1:]])]


def _choices_of(line: str) -> set[str]:
    """Return a line as one choice, and as several in a line."""
    return {" ".join(one.split()).casefold() for one in (line, *re.split(r"[;|\t]", line))}


def _counts_lines(answer: str, n_lines: int) -> bool:
    """Whether an answer is the letter or the number of one of some lines."""
    if len(answer) == 1 and "a" <= answer <= "j":
        return ord(answer) - ord("a") < n_lines
    return n_lines > 1 and answer.isdecimal() and int(answer) <= n_lines


def _label(line: str) -> "re.Match[str] | None":
    """Return the label at the start of a line: a few words, or a few characters without spaces."""
    label = _LABEL.match(line)
    return None if label is None or _UNSPACED.search(label["words"] or "") else label


def _is_label(line: str) -> bool:
    """Whether a line only says what comes next: `Options:`, `### Question`."""
    label = _label(line.strip())
    is_heading = re.fullmatch(r"#+(?:\W*\w+){1,5}\W*", line.strip())
    return bool(is_heading) or (label is not None and label.end() == len(line.strip()))


def _without_heads_behind(stem: str) -> list[str]:
    """Lines without those at the end that only announce the choices: `Options:`."""
    lines = stem.strip().splitlines()
    while len(lines) > 1 and (not lines[-1].strip() or _is_label(lines[-1])):
        lines.pop()
    return lines or [""]


def _unlabelled(part: str) -> str:
    """Take off numbers, headings and labels before a question, and a tag behind it."""
    lines = part.strip().splitlines()
    while len(lines) > 1 and _is_label(lines[0]):
        lines = "\n".join(lines[1:]).strip().splitlines()
    part = "\n".join(lines)
    for begins in (_NUMBER.match, _label, _NUMBER.match):
        match = begins(part)
        part = part[match.end() :] if match else part
    return re.sub(r"</\w+>$", "", part.strip()).strip()


def _asking_parts(stem: str) -> Iterator[str]:
    """Labelled parts of a stem that ask: by their label, or by how they end."""
    for match in _ASKS_INLINE.finditer(stem):
        if match.start() > 0:
            yield re.split(r"\n[ \t]*(?=\w+(?: \w+){0,4}:)", stem[match.end() :])[0].strip()
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in stem.splitlines():
        label = _label(line)
        if label is not None:
            parts.append(((label["words"] or "").casefold(), [line[label.end() :]]))
        else:
            parts[-1][1].append(line)
    for name, lines in parts if len(parts) > 1 else ():
        body = "\n".join(lines).strip()
        words = re.sub(r"\d", "", name).split()
        if body and (_ASKS & set(words) or (name and _ENDS_ASKING.search(body))):
            yield _unlabelled(body)
            yield _unlabelled(body.splitlines()[0])
