"""What the pages tell: a search, a document with its edits and the benchmark items found in it, two
documents side by side, a sample of a shard token by token, the steps of a run.
"""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from catalog.answers import values_of
from catalog.ask import (
    Exposure,
    FoundRecords,
    History,
    Padding,
    Traced,
    find_host,
    find_ids,
    find_text,
    find_url,
    refuse_suppressed,
    sample_tokens,
    takedowns_covering,
    trace_token,
    withheld,
)
from catalog.errors import CatalogError, TakedownRefused
from catalog.figures import written
from catalog.formats.line_kinds import LINE_KINDS
from catalog.lineage import Lineage, Row, records_of
from catalog.review import signal_value
from catalog.serve.benchmark_items import item_texts

MAX_CHARS = 200_000  # of a text on a page
TEXT_COLUMNS = ("title", "text", "line_kinds")
MAX_COMPARED_WORDS = 5_000
MAX_PASSAGES = 5  # of one item on a page
SHOWN_KINDS = (
    "boilerplate_line",
    "repeated_span",
    "benchmark_item",
    "text_step",
    "sentence",
    "encoding",
)
"""Edits whose removed text is shown; others took out personal data, of which only the kind is."""


Segment = dict[str, Any]


# Search.


def kind_of(asked: str) -> str:
    """Tell what was typed: a document's id, an address, a host or text."""
    if re.fullmatch(r"[0-9a-fA-F]{8,32}", asked):
        return "id"
    if re.match(r"[a-z][a-z0-9+.-]*://", asked) or re.fullmatch(r"\S+\.\S+/\S*", asked):
        return "address"
    if re.fullmatch(r"[\w-]+(\.[\w-]+)+", asked):
        return "host"
    return "text"


def found(lineage: Lineage, kind: str, asked: str, inside: bool, limit: int) -> FoundRecords:
    """Return the documents that a question means; texts are searched inside only when asked."""
    if kind == "id":
        return find_ids(lineage, asked, limit)
    if kind == "address":
        return find_url(lineage, asked, limit)
    if kind == "host":
        return find_host(lineage, asked, limit)
    return find_text(lineage, asked, limit, inside)


def number(written: str, name: str, default: int | None) -> int | None:
    """Return a number of a form; the default where nothing was written."""
    if not written:
        return default
    if not re.fullmatch(r"[0-9]{1,15}", written):
        raise CatalogError(f"{name} is a whole number, not {written!r}")
    return int(written)


# A document.


def document_story(lineage: Lineage, doc_id: bytes, history: History) -> dict[str, Any]:
    """Return what a document's page has beside its history: its text with every edit, its signals
    beside the rules about them, the benchmark items found in it."""
    records = history.records
    snapshot = records[0]["snapshot"] if records else ""
    parts = {row["part"] for row in records}
    failed = {
        rule for row in records for rule in ((row["decision"] or {}).get("failed_rules") or ())
    }
    signals = history.signals[0] if history.signals else {}
    domain = next((row["decision"]["domain"] for row in records if row["decision"]), None)
    story: dict[str, Any] = {
        "rules": list(asked_of(_recipe(lineage), signals, domain, failed)),
        "others": _other_signals(_recipe(lineage), signals),
        "hits": lineage.documents_in("benchmark_hits", [doc_id], snapshot, parts),
        "title": None,
        "segments": None,
        "kinds": {},
        "withheld": False,
        "takedowns": [],
        "cut_off": False,
    }
    try:
        refuse_withheld(lineage, doc_id)
    except TakedownRefused:
        return story | {"withheld": True, "takedowns": takedowns_covering(lineage, doc_id, records)}
    texts = lineage.documents_in("documents", [doc_id], snapshot, parts, TEXT_COLUMNS)
    finals = lineage.documents_in("final_text", [doc_id], snapshot, parts, ("edits", "text"))
    if texts:
        extracted = texts[0]["text"]
        final = finals[0]["text"] if finals else extracted
        edits = (finals[0]["edits"] or ()) if finals else ()
        places = [
            {"start": place["start"], "end": place["end"], "of": _named(hit)}
            for hit in story["hits"]
            for place in hit["places"] or ()
        ]
        story["title"] = texts[0]["title"]
        story["segments"] = list(segments(extracted, final, edits, places))
        story["cut_off"] = len(extracted) > MAX_CHARS
        story["kinds"] = _lines_by_kind(extracted, texts[0]["line_kinds"])
        items = item_texts(lineage, {(hit["benchmark"], hit["item_id"]) for hit in story["hits"]})
        for hit in story["hits"]:
            hit["item"] = items.get((hit["benchmark"], hit["item_id"]))
            hit["passages"] = [
                list(segments(extracted, final, edits, places, place["start"], place["end"]))
                for place in (hit["places"] or ())[:MAX_PASSAGES]
            ]
    return story


def refuse_withheld(lineage: Lineage, doc_id: bytes) -> None:
    """Raise `TakedownRefused` for a document that a standing order covers."""
    for record in records_of(lineage, doc_id):
        refuse_suppressed(lineage, doc_id, record)


def segments(
    extracted: str,
    final: str,
    edits: Sequence[Row],
    places: Sequence[Row] = (),
    first: int = 0,
    last: int = MAX_CHARS,
) -> Iterator[Segment]:
    """Yield a passage of the extracted text in pieces: as it was (`same`, `item` where it is part
    of a benchmark item), taken out (`cut`) or put in its place (`put`).

    Personal data that was taken out is not shown; its kind is.
    """
    at, moved = first, 0
    for edit in sorted(edits, key=lambda one: (one["start"], one["end"])):
        if edit["start"] >= last:
            break
        if edit["end"] <= first and edit["start"] < first:
            moved += edit["new_length"] - (edit["end"] - edit["start"])
            continue
        yield from _marked(extracted, at, edit["start"], places)
        kind = edit["kind"] or "edit"
        removed = extracted[edit["start"] : edit["end"]]
        if removed and kind.partition(":")[0] in SHOWN_KINDS:
            yield {"how": "cut", "kind": kind, "text": removed}
        elif removed and not edit["new_length"]:
            yield {"how": "cut", "kind": kind, "text": f"[{kind}]"}
        start = edit["start"] + moved
        if edit["new_length"]:
            yield {"how": "put", "kind": kind, "text": final[start : start + edit["new_length"]]}
        moved += edit["new_length"] - (edit["end"] - edit["start"])
        at = edit["end"]
    yield from _marked(extracted, at, min(len(extracted), max(at, last)), places)


def _marked(text: str, start: int, end: int, places: Sequence[Row]) -> Iterator[Segment]:
    """Yield a piece of the text, the parts of it in benchmark items apart."""
    at = start
    for place in sorted(places, key=lambda one: (one["start"], one["end"])):
        low, high = max(at, place["start"]), min(end, place["end"])
        if low >= high:
            continue
        if low > at:
            yield {"how": "same", "kind": "", "text": text[at:low]}
        yield {"how": "item", "kind": place["of"], "text": text[low:high]}
        at = high
    if at < end:
        yield {"how": "same", "kind": "", "text": text[at:end]}


def _named(hit: Row) -> str:
    return f"{hit['benchmark']} {hit['item_id']}: {str(hit['verdict']).replace('_', ' ')}"


def _recipe(lineage: Lineage) -> dict[str, Any]:
    return yaml.safe_load(lineage.registry.recipe(lineage.version.recipe_digest).yaml) or {}


def rules_of(lineage: Lineage, record: Row) -> list[Row]:
    """Return what rules of selection ask of a record of a review, those that it failed first."""
    failed = set(record["failed_rules"] or ())
    asked = asked_of(_recipe(lineage), record["signals"], record["domain"], failed)
    return sorted(asked, key=lambda rule: not rule["failed"])


def asked_of(
    recipe: Mapping[str, Any], signals: Row, domain: str | None, failed: Collection[str]
) -> Iterator[Row]:
    """Yield what each rule of selection asks of a document of this language and domain, with the
    value that it has; rules that are about others are left out, unless it failed them."""
    selection = recipe.get("selection") or {}
    language = signals.get("language")
    for rule in selection.get("rules") or ():
        is_failed, value = rule["name"] in failed, signal_value(signals, rule["signal"])
        if is_failed or (signals and _concerns(rule, domain, language)):
            yield {
                "name": rule["name"],
                "signal": rule["signal"],
                "value": value,
                "asked": _asked(rule, selection, language),
                "failed": is_failed,
            }


def _concerns(rule: Mapping[str, Any], domain: str | None, language: str | None) -> bool:
    domains, languages = rule.get("domains"), rule.get("only_languages")
    return (domains is None or domain in domains) and (languages is None or language in languages)


def _asked(rule: Mapping[str, Any], selection: Mapping[str, Any], language: str | None) -> str:
    """Say what a rule or a condition asks: of its own bounds those of the language, or of the rule."""
    where = rule.get("where")
    if where and where.get("tier"):
        only = f", where the tier is one of {', '.join(where['tier'])}"
    elif where:
        only = f", where {where['signal']} is {_asked(where, selection, language)}"
    else:
        only = ""
    if rule.get("in") is not None:
        return f"one of {', '.join(rule['in'])}{only}"
    if rule.get("cutoff") is not None:
        cutoff = selection["cutoffs"][rule["cutoff"]]
        end = cutoff.get("drop") or "lowest"
        return f"not among the {end} {written(100 * cutoff['drop_share'])}%{only}"
    levels = [(rule.get("languages") or {}).get(language), rule]
    words = ("above", "below") if rule.get("exclusive") else ("at least", "at most")
    ends = []
    for word, end in zip(words, ("min", "max"), strict=True):
        given = [level[end] for level in levels if level and level.get(end) is not None]
        ends += [f"{word} {written(given[0])}"] if given else []
    return ", ".join(ends) + only


def _lines_by_kind(text: str, kinds: Sequence[int] | None) -> dict[str, int]:
    """How many lines of a text are of each kind, in the kinds' order; nothing where none is known."""
    lines = zip(text.split("\n"), kinds or (), strict=False)
    found = Counter(kind for line, kind in lines if line.strip())
    return {LINE_KINDS[kind]: n for kind, n in sorted(found.items())}


def _other_signals(recipe: Mapping[str, Any], signals: Row) -> dict[str, Any]:
    """Return the signals that no rule asks for, fields of one by one."""
    rules = (recipe.get("selection") or {}).get("rules") or ()
    asked = {rule["signal"] for rule in rules} | {"snapshot", "part"}
    return {
        name: value
        for name, value in sorted(_leaves(signals))
        if name not in asked and value is not None
    }


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else key)
    else:
        yield name, value


# Two documents.


def side_by_side(lineage: Lineage, left: bytes, right: bytes) -> dict[str, Any]:
    """Compare the extracted texts of two documents, word by word."""
    texts = [_text(lineage, doc_id) for doc_id in (left, right)]
    words = [re.findall(r"\s*\S+\s*?", text)[:MAX_COMPARED_WORDS] for text in texts]
    left_words, right_words = ([word.strip() for word in side] for side in words)
    matcher = difflib.SequenceMatcher(a=left_words, b=right_words, autojunk=False)
    columns: list[list[Segment]] = [[], []]
    for how, *ends in matcher.get_opcodes():
        for side, (low, high) in enumerate((ends[:2], ends[2:])):
            if high > low:
                piece = {"how": "same" if how == "equal" else ("cut", "put")[side], "kind": ""}
                columns[side].append(piece | {"text": "".join(words[side][low:high])})
    return {
        "version": lineage.version.name,
        "ids": [left.hex(), right.hex()],
        "columns": columns,
        "ratio": matcher.ratio(),
        "cut_off": any(len(side) == MAX_COMPARED_WORDS for side in words),
    }


def _text(lineage: Lineage, doc_id: bytes) -> str:
    refuse_withheld(lineage, doc_id)
    for record in records_of(lineage, doc_id):
        rows = lineage.documents_in(
            "documents", [doc_id], record["snapshot"], [record["part"]], ("text",)
        )
        if rows:
            return str(rows[0]["text"])
    raise CatalogError(f"document {doc_id.hex()} has no text: it was dropped before extraction")


# A sample of a shard.


def sample(lineage: Lineage, shard: str, number: int, token: int | None) -> dict[str, Any]:
    """Return the tokens of a sample with the documents they are of, and the story of one token."""
    found = sample_tokens(lineage, shard, number)
    shown = [bytes.fromhex(piece.doc_id) for piece in found.pieces if piece.doc_id]
    hidden = {doc_id.hex() for doc_id in withheld(lineage, shown)}
    pieces = [
        replace(piece, tokens=["·"] * len(piece.tokens)) if piece.doc_id in hidden else piece
        for piece in found.pieces
    ]
    asked: Traced | Padding | dict[str, Any] | None = None
    if token is not None:
        traced = trace_token(lineage, shard, number, token)
        asked = {"token": token, "withheld": True} if traced.doc_id in hidden else traced
    return values_of(found) | {"pieces": pieces, "asked": asked, "token": token}


# A run.


def step_line(answer: Exposure) -> list[float]:
    """Return how far along a run the steps lie at which it saw the document, 0 to 1."""
    steps = max(1, answer.steps)
    return [(step + 0.5) / steps for step in answer.steps_seen[:2000]]
