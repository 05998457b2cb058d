"""Write docs/reference/settings.md: every key of a recipe, derived from the models that read it.

Run `python docs/make_reference.py` after a setting changed; a test compares the file with what
this prints. A setting without a meaning, in its model or in `MEANINGS` here, is an error, so a
new one cannot stay undocumented.
"""

import ast
import inspect
import itertools
import json
import re
import sys
import textwrap
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from corpus_assets.recipe.recipe import Recipe
from corpus_assets.signals.families import FAMILIES

TARGET = Path(__file__).parent / "reference" / "settings.md"

LARGEST = 2**63  # what every integer is below anyway
Entry = tuple[str, str]  # a key, and the line about it

HEAD = """\
# Settings

Every key of a recipe, made by `docs/make_reference.py` from the models that read it. Each entry has
the key, its type and default, bounds, and the meaning. Where no default is shown it is null if the
type allows it, else empty; `settings` have a section of their own below. An unknown key is an error.
[Write a recipe](../how-to/write-a-recipe.md) shows how they fit together.
"""

MEANINGS = {
    "Recipe.name": "name of the corpus; the start of default version names",
    "Recipe.seed": "moves documents between shards, their order, and the tokenizer's sample",
    "Recipe.sources": "where documents come from; the order of all snapshots is their rank",
    "Recipe.calibrate_on": "snapshots that cutoffs and tokenizer learn from; null: all",
    "Recipe.blocklists": "files with one host per line; pages of these hosts are dropped",
    "Recipe.documents": "gates, and text extraction",
    "Recipe.language_model": "the language identifier",
    "Recipe.signals": "what is measured of every document",
    "Recipe.selection": "what is kept, by thresholds over the signals",
    "Recipe.signatures": "MinHash signatures, for near duplicates",
    "Recipe.clusters": "which duplicates are found, how far apart, and which one is kept",
    "Recipe.eval_suites": "benchmarks to search documents for: files, or entries with settings",
    "Recipe.contamination": "how much of a benchmark item is contamination, and what follows",
    "Recipe.clean_text": "boilerplate lines, personal data, and the shortest text kept",
    "Recipe.tokenizer": "trained here, or a pinned `tokenizer.json`",
    "Recipe.shards": "length of samples, packing, size of shards",
    "Recipe.mixture": "how much of what a training run sees, and when",
    "Recipe.drift": "how far a snapshot may differ from those before it; not part of a version's identity",
    "SourceEntry.name": "name of the source; part of every `doc_id`",
    "SourceEntry.fields": "columns of a JSONL or Parquet source",
    "SourceEntry.snapshots": "snapshot name -> file, folder or glob pattern",
    "FieldNames.url": "column of the URL",
    "FieldNames.text": "column of the text",
    "FieldNames.licence": "column of the SPDX id, or of a list of them",
    "FieldNames.language": "column of the declared language",
    "FieldNames.title": "column of the title",
    "IngestSettings.gates": "cheap refusals before extraction",
    "IngestSettings.extraction": "text from pages",
    "GateSettings.max_bytes": "largest payload or text that passes, in bytes",
    "GateSettings.optout": "publishers' machine-readable refusals",
    "ExtractionSettings.engine": "the extractor",
    "ExtractionSettings.mode": "`fast`: trafilatura's own rules; `precision`: also compares with "
    "two other extractors, keeps less where they disagree, takes longer",
    "ExtractionSettings.include_comments": "text of readers' comments",
    "TrainSettings.word_ngrams": "longest run of words that is a feature",
    "TrainSettings.dim": "size of word vectors",
    "TrainSettings.epochs": "passes over the training texts",
    "TrainSettings.lr": "learning rate",
    "TrainSettings.bucket": "hash buckets for word n-grams",
    "Ensemble.buckets": "equal shares of the documents that make the ranks",
    "SignalSettings.families": "families to compute, in this order; each once",
    "SelectionSettings.rules": "all that a document must be; the first failing one is the reason",
    "SelectionSettings.cutoffs": "thresholds given as shares, by name",
    "SelectionSettings.tiers": "grades of kept documents; null: one tier for all",
    "Rule.min": "smallest value that passes",
    "Rule.max": "largest value that passes",
    "Rule.signal": "the column that the rule looks at",
    "Condition.min": "smallest value that meets it",
    "Condition.max": "largest value that meets it",
    "Bounds.min": "lower end, included",
    "Bounds.max": "upper end, included",
    "CutoffSettings.signal": "the column that the cutoff is about",
    "CutoffSettings.drop_share": "share of documents below the cutoff",
    "CutoffSettings.by": "a value for each language, each domain, or each language of each domain; "
    "null: one for all",
    "TierSettings.signal": "the column that grades",
    "TierSettings.names": "tiers, best first",
    "TierSettings.domains": "domains that are graded; null: all",
    "TierSettings.by": "bounds for each language, each domain, or each language of each domain; "
    "null: one for all",
    "TierSettings.min_documents": "a language or domain with fewer uses the common bounds",
    "SignatureSettings.shingle_words": "words in a shingle",
    "SignatureSettings.bands": "bands; two documents meet when they agree in one",
    "SignatureSettings.rows_per_band": "minima in a band",
    "ClusterSettings.url": "pages with the same `url_key` are duplicates",
    "ClusterSettings.exact": "documents with the same `text_id` are duplicates",
    "ClusterSettings.min_similarity": "estimated Jaccard similarity of shingles that confirms a "
    "near duplicate; 0: a shared band is enough; null: near duplicates are not looked for",
    "ClusterSettings.scope": "`per_snapshot`: only inside a snapshot; `all`: against all snapshots "
    "before it too; a number: against so many before it",
    "ClusterSettings.keep": "which member of the earliest snapshot is kept",
    "ContaminationSettings.ngram": "words in an n-gram",
    "ContaminationSettings.min_words": "an item with fewer words is not searched for",
    "EvalSuite.fields": "which fields of a record say what",
    "CleanTextSettings.scrub": "personal data",
    "CleanTextSettings.min_chars": "a shorter final text is dropped",
    "TokenizerEntry.train": "train byte-level BPE; not together with `pinned`",
    "TokenizerEntry.sample": "what it is trained on",
    "TokenizerSample.languages": "languages to take; null: all",
    "TokenizerSettings.split_pattern": "regular expression of pre-tokenization, after Llama 3",
    "TokenizerSettings.special_tokens": "ids 0, 1, ... in this order; those that end a document and fill a sample are among them",
    "ShardSettings.tokens_per_shard": "aimed at, with 4 characters a token assumed; sets the "
    "number of shards of a group",
    "MixtureSettings.phases": "stretches of the run, in order",
    "PhaseSettings.name": "name of the phase",
}


def main() -> None:
    TARGET.write_text(reference(), encoding="utf-8")
    sys.stdout.write(f"wrote {TARGET.name}: {key_count()} keys\n")


def reference() -> str:
    """The whole page."""
    unused = set(MEANINGS)
    shown: dict[Entry, str] = {}
    parts = [HEAD]
    for path, model in sections(Recipe):
        parts.append(_section(path, model, unused, shown))
    parts.append(_signal_columns())
    if unused:
        raise SystemExit(f"MEANINGS has entries that nothing needs: {', '.join(sorted(unused))}")
    return "\n".join(parts)


def key_count() -> int:
    """How many keys a recipe may have: the fields of every model that reads one, each model once."""
    return sum(len(model.model_fields) for _, model in sections(Recipe))


def sections(root: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Every model below `root` once, with the key under which it is first met."""
    seen: set[type[BaseModel]] = set()

    def walk(path: str, model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
        if model in seen:
            return
        seen.add(model)
        yield path, model
        for name, field in model.model_fields.items():
            key = field.alias or name
            for suffix, inner in _models_in(field.annotation):
                yield from walk(f"{path}.{key}{suffix}" if path else f"{key}{suffix}", inner)

    yield from walk("", root)


def _models_in(annotation: Any, suffix: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    annotation = _unwrapped(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield suffix, annotation
    elif origin in (tuple, list):
        yield from _models_in(arguments[0], f"{suffix}[]")
    elif origin is dict:
        yield from _models_in(arguments[1], f"{suffix}.NAME")
    elif origin in (Union, types.UnionType):
        for argument in arguments:
            yield from _models_in(argument, suffix)


def _unwrapped(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _section(path: str, model: type[BaseModel], unused: set[str], shown: dict[Entry, str]) -> str:
    """A model's keys; those that it has from a base, as a section above has them, by name only."""
    title = f"`{path}`" if path else "Top level"
    if any(model is family for family in FAMILIES.values()):
        title = f"`{path}` with `family: {model.model_fields['family'].default}`"
    said = _docstrings(model)
    lines: list[str] = []
    again: dict[str, list[str]] = {}
    for name, field in model.model_fields.items():
        place = f"{model.__name__}.{name}"
        meaning = field.description or said.get(name)
        if meaning is None:
            meaning = MEANINGS.get(place)
            unused.discard(place)
        if name == "family":
            continue  # the section's title has it
        if meaning is None:
            raise SystemExit(
                f"{place} has no meaning; give its Field a description, or add it to MEANINGS in "
                "docs/make_reference.py"
            )
        key = f"`{field.alias or name}`"
        line = f"- {key} ({_type(field)}): {_phrase(meaning)}"
        if (place_before := shown.get((name, line))) is not None:
            again.setdefault(place_before, []).append(key)
        else:
            lines.append(line)
            shown[name, line] = title
    for place_before, keys in again.items():
        lines.append(f"- {', '.join(keys)}: as in {place_before}")
    return f"## {title}\n\n" + "\n".join(lines or ["No keys."]) + "\n"


def _phrase(meaning: str) -> str:
    """A sentence of a docstring as a phrase for a table cell."""
    text = " ".join(meaning.split())
    if text.endswith(".") and not text.endswith("..."):
        text = text[:-1]
    return text[0].lower() + text[1:] if re.match(r"[A-Z][a-z]+\b", text) else text


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Strings that stand under fields, of the model and of those it derives from."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not (issubclass(base, BaseModel) and base.__module__.startswith("corpus_assets")):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
        for field, after in itertools.pairwise(body):
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and is_text:
                found[field.target.id] = str(after.value.value)  # type: ignore[union-attr]
    return found


def _type(field: FieldInfo) -> str:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    names = extra.get("enum")  # of what registers itself
    text = _choice(names) if isinstance(names, list) else _type_name(field.annotation)
    default = _default(field)
    limits = [f"`{text}{default and f' = {default}'}`"]
    for rule in field.metadata:
        for name, sign in (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<")):
            value = getattr(rule, name, None)
            if value is not None and value < LARGEST:
                limits.append(f"{sign} {value:,}" if isinstance(value, int) else f"{sign} {value}")
        if getattr(rule, "min_length", None):
            limits.append("not empty")
        if getattr(rule, "pattern", None):
            limits.append(f"like `{rule.pattern}`")
    return ", ".join([*limits, *(["required"] if field.is_required() else [])])


def _type_name(annotation: Any) -> str:
    annotation = _unwrapped(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is type(None):
        return "null"
    if annotation is Any:
        return "any"
    if origin is Literal:
        return _choice(arguments)
    if origin in (tuple, list):
        return f"list[{_type_name(arguments[0])}]"
    if origin is dict:
        return f"dict[str, {_type_name(arguments[1])}]"
    if origin in (Union, types.UnionType):
        return "|".join(dict.fromkeys(_type_name(argument) for argument in arguments))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "settings"
    return getattr(annotation, "__name__", str(annotation))


def _choice(names: Iterable[object]) -> str:
    return "|".join(json.dumps(name) for name in names)


def _default(field: FieldInfo) -> str:
    """The default as JSON; empty where the page's head says what it is."""
    if field.is_required():
        return ""
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel) or value in (None, (), {}):
        return ""
    if isinstance(value, tuple) and any(isinstance(item, BaseModel) for item in value):
        value = [item.model_dump(mode="json", exclude_none=True) for item in value]
    return json.dumps(value, ensure_ascii=False)


def _signal_columns() -> str:
    lines = [
        "## Signal columns",
        "",
        "Columns that rules, cutoffs and tiers can use, with default settings. `n_chars` always exists.",
        "",
        "| family | signals |",
        "|---|---|",
    ]
    for name, family in FAMILIES.items():
        columns = family.model_construct(family=name).columns()
        shown = ", ".join(
            f"`{column}`" + (" (label)" if str(kind) == "string" else "")
            for column, kind in columns.items()
        )
        lines.append(f"| `{name}` | {shown} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
