"""A first recipe for what lies in a folder, with a comment at each value that a person may change."""

import datetime
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from catalog.figures import counted
from catalog.formats.chat_markers import MARKER_CHARS
from corpus_assets.ingest import FolderSource
from corpus_assets.shards import END_OF_DOCUMENT, PAD

WEB = ("warc", "wet")
SAMPLED_RECORDS = 2000
"""A first look takes about so many records: a report of them is ready within two minutes."""
PREFERRED = ("jsonl", "parquet", "text", "code", "wet", "warc")  # the earlier copy is kept


def write_recipe(name: str, folder: Path, sources: Sequence[FolderSource], target: Path) -> str:
    """Return a recipe for `target` that builds a corpus from these sources of a folder."""
    ordered = sorted(sources, key=lambda each: PREFERRED.index(each.format))
    named = dict(zip(_names(ordered), ordered, strict=True))
    domains = {each: _domain(each, source) for each, source in named.items()}
    prose = sorted({domain for domain in domains.values() if domain != "code"})
    lines = [
        f"# Written by `corpus init {_comment(folder.resolve().name)}`. Every key: docs/reference/settings.md",
        f"name: {_scalar(name)}",
        "seed: 1",
        "",
        "sources:                      # in order of rank: of two copies the earlier one is kept",
    ]
    for each, source in named.items():
        lines += _source(each, domains[each], source, folder, target)
    if any(source.format in WEB for source in ordered):
        lines += [
            "",
            "documents:",
            "  extraction: {engine: blocks, page_type: true}",
            "  gates: {optout: {directives: [noai]}}   # pages whose publishers say no are dropped",
        ]
    lines += ["", "signals:", "  word_breaks: segmented      # of scripts without spaces too"]
    lines += ["  families:                   # measured once for every document"]
    lines += [
        "    - {family: language}",
        "    - {family: gopher_quality}",
        "    - {family: repetition}",
    ]
    lines += ["", "selection:", "  rules:                      # kept if it passes all of them"]
    lines += _rules(prose, "code" in domains.values())
    lines += [
        "",
        "clusters: {scope: all, min_similarity: 0.7}   # near duplicates, in all sources",
        f"clean_text: {{min_chars: {200 if prose else 50}}}   # shorter documents are dropped",
        "",
        "tokenizer:",
        f"  train: {{{_special_tokens(ordered)}}}   # as many tokens as the corpus supports; or `pinned: ...`",
        "shards: {seq_len: 2048}       # tokens per sample",
        "mixture: {block_samples: 16}  # `shares: {domain: {...}}` divides a training run",
    ]
    return "\n".join(lines) + "\n"


def sample_share(sources: Sequence[FolderSource]) -> float | None:
    """Return the share of records for a first look; None if all of them are few enough."""
    records = sum(source.records for source in sources)
    return None if records <= 2 * SAMPLED_RECORDS else float(f"{SAMPLED_RECORDS / records:.1g}")


def _source(
    name: str, domain: str, source: FolderSource, folder: Path, target: Path
) -> Iterator[str]:
    files, records = counted(source.files, "file"), counted(source.records, "record")
    yield f"  - name: {_scalar(name)}"
    yield f"    format: {source.format:<20}  # {files}, about {records}"
    yield f"    domain: {_scalar(domain)}"
    if "licence" not in source.fields:
        yield "    licence: unknown            # SPDX id of records that state none"
    if source.fields:
        fields = ", ".join(f"{field}: {_scalar(name)}" for field, name in source.fields.items())
        others = ", ".join(map(_comment, source.other_columns[:8]))
        yield f"    fields: {{{fields}}}" + (f"   # not used: {others}" if others else "")
    yield "    snapshots:                  # dated deliveries; add the next one below"
    month = datetime.datetime.fromtimestamp(source.changed, datetime.UTC).strftime("%Y-%m")
    for number, location in enumerate(source.locations, 1):
        suffix = "" if len(source.locations) == 1 else f"-{number}"
        at = os.path.relpath(folder / location, target.parent).replace(os.sep, "/")
        at += "/" * (location.endswith("/") or location == ".")
        yield f"      {_scalar(f'{name}-{month}{suffix}')}: {_scalar(at)}"


def _rules(prose: Sequence[str], has_code: bool) -> Iterator[str]:
    if prose:
        where = f", domains: [{', '.join(map(_scalar, prose))}]" if has_code else ""
        # Gopher: Rae et al. 2021, section A.1.1 and table A1.
        for rule in (
            "name: word_count, signal: n_words, min: 50, max: 100000",
            "name: word_length, signal: mean_word_chars, max: 15",
            "name: repeated_lines, signal: dup_line_share, max: 0.3",
            "name: repeated_paragraphs, signal: dup_paragraph_share, max: 0.3",
            "name: repeated_10_grams, signal: dup_10_gram_char_share, max: 0.1",
        ):
            yield f"    - {{{rule}{where}}}"
    if has_code:
        yield "    - {name: generated_code, signal: mean_word_chars, max: 20, domains: [code]}"


def _special_tokens(sources: Sequence[FolderSource]) -> str:
    """Return the markers of conversations, if there are any: each is a token."""
    if not any("messages" in source.fields for source in sources):
        return ""
    names = ", ".join(map(json.dumps, (END_OF_DOCUMENT, PAD, *MARKER_CHARS)))
    return f"special_tokens: [{names}]"


def _names(sources: Sequence[FolderSource]) -> list[str]:
    """Return a name for each source: its sub-folder, its file or its format, each once."""
    names: list[str] = []
    for source in sources:
        alone = Path(source.locations[0]).name.partition(".")[0] if source.files == 1 else ""
        wanted = _slug(source.folder or alone or source.format) or source.format
        free = (wanted, f"{wanted}-{source.format}", *(f"{wanted}-{n}" for n in range(2, 10_000)))
        names.append(next(name for name in free if name not in names))
    return names


def _domain(name: str, source: FolderSource) -> str:
    if source.format in WEB:
        return "web"
    return "code" if source.format == "code" or "path" in source.fields else name


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-")


def recipe_name(folder: Path) -> str:
    """Return a name for the recipe of a folder."""
    return _slug(folder.resolve().name) or "corpus"


def _scalar(text: str) -> str:
    """Return a string as YAML: as it is where that is one, else in quotes."""
    is_plain = (
        re.fullmatch(r"[A-Za-z0-9_./*-]*[A-Za-z/][A-Za-z0-9_./*-]*", text) and text[0] not in "*-."
    )
    reserved = text.lower() in ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
    return text if is_plain and not reserved else json.dumps(text, ensure_ascii=False)


def _comment(text: str) -> str:
    """Return a name that cannot end a comment's line."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:40]
