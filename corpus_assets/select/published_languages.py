"""FineWeb2's configurations of its languages (`configs/deu_Latn.yml` and so on) as one table by language.

A threshold holds for words as its authors count them. A language is left out where words are split
by means that this project does not have. Languages of which more than a tenth was found to be of
others get what the precision filter reads: a list of their own words, and names in URLs
(`misc/precision_filtering/run_precision_filtering.py`). Top-level domains are among the names there,
but with a slash behind them they are never found in a host; they are left out.
"""

import csv
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from corpus_assets.core.errors import ModelError, RecipeError
from corpus_assets.core.model_choice import INSTALLED
from corpus_assets.models import language_codes
from corpus_assets.select.tables import LANGUAGE, OWN_WORDS, STOP_WORDS

CONFIGS, WORD_LISTS = "fineweb2-configs", "fineweb2-wordlists"  # as public models
FILTER = "misc/precision_filtering"
CONTAMINATED = 0.1  # a larger share of other languages asks for the filter
VALUES = {  # column -> key of a configuration
    "language_score": "language_score",
    "dup_line_share": "dup_line_frac",
    **{f"top_{n}": ("top_n_grams", n) for n in (2, 3, 4)},
    **{f"dup_{n}": ("dup_n_grams", n) for n in range(5, 11)},
    "min_word_chars": "min_avg_word_length",
    "max_word_chars": "max_avg_word_length",
    "alphabetic": "max_non_alpha_words_ratio",
    "terminal": "line_punct_thr",
    "newlines": "new_line_ratio",
}
COLUMNS = (LANGUAGE, *VALUES, STOP_WORDS, OWN_WORDS)

_UNSPACED = "is written without spaces, and there is no dictionary of it here"
NO_SPLITTER = {
    "Hang": "words are morphemes there (Kiwi)",
    "vie": "words of several syllables are found by a model there (pyvi)",
    # Scripts without spaces (Unicode's line breaking classes SA, AK, AP, AS and ID) beside those of
    # `text.segment`.
    **dict.fromkeys(("Ahom", "Lana", "Tale", "Talu", "Tavt"), _UNSPACED),
    **dict.fromkeys(("Bali", "Batk", "Brah", "Bugi", "Cham", "Gran", "Java"), _UNSPACED),
    **dict.fromkeys(("Kawi", "Kits", "Maka", "Nshu", "Tang", "Yiii"), _UNSPACED),
}
"""By ISO 15924 script or ISO 639-3 language."""


@dataclass(frozen=True)
class LanguageRows:
    """Rows of a table, by language, and why other configurations are not in it."""

    rows: Mapping[str, Mapping[str, str]]
    left_out: Mapping[str, str]

    def write(self, path: Path) -> None:
        """Write the rows for `languages_from`."""
        with open(path, "w", newline="", encoding="utf-8") as out:
            table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(self.rows.values())


def read_configurations(
    folder: Path, only: Collection[str] = (), lists: Path | None = None
) -> LanguageRows:
    """Read a folder of configurations, or those of some languages (`de`, or a label as `deu_Latn`),
    and of the languages with a word list in the folder `lists` what the precision filter reads."""
    own_words = _own_words(lists) if lists is not None else {}
    rows: dict[str, dict[str, str]] = {}
    left_out: dict[str, str] = {}
    for path in _by_language(folder):
        label = path.stem
        code = language_codes().get(label, label)
        if only and not {code, label} & set(only):
            continue
        language, _, script = label.partition("_")
        lacks = NO_SPLITTER.get(script) or NO_SPLITTER.get(language)
        if lacks:
            left_out[label] = lacks
        elif code in rows:
            left_out[label] = (
                f"another configuration is that of {code}, as the model's labels are one"
            )
        else:
            rows[code] = {LANGUAGE: code, **_row(path), OWN_WORDS: own_words.get(label, "")}
    unknown = set(only) - rows.keys() - left_out.keys()
    unknown -= {label for label in unknown if language_codes().get(label) in rows}
    if unknown or not rows:
        raise ModelError(
            f"{folder} has no configuration of {', '.join(sorted(unknown)) or 'a language'}"
        )
    return LanguageRows(dict(sorted(rows.items())), left_out)


def _by_language(folder: Path) -> Iterator[Path]:
    """Yield configurations; of those that share a code the one first whose label is listed first."""
    order = {label: n for n, label in enumerate(language_codes())}
    found = (path for path in folder.rglob("*.yml") if "_" in path.stem)
    yield from sorted(found, key=lambda path: (order.get(path.stem, len(order)), path.stem))


def _row(path: Path) -> dict[str, str]:
    try:
        stated = yaml.safe_load(path.read_text(encoding="utf-8"))
        ngrams = {key: dict(stated.get(key) or ()) for key in ("top_n_grams", "dup_n_grams")}
        row = {column: _number(_value(stated, ngrams, key)) for column, key in VALUES.items()}
        words = [str(word) for word in stated.get("stopwords") or ()]
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise RecipeError(f"{path} is not a configuration of a language: {error}") from error
    return {**row, STOP_WORDS: json.dumps(words, ensure_ascii=False)}


def _own_words(lists: Path) -> dict[str, str]:
    """Return by label what tells a language from others, as `own_words` reads it."""
    try:
        scores = json.loads((lists / FILTER / "cont_scores.json").read_bytes())
        names = json.loads((lists / FILTER / "url_whitelist.json").read_bytes())
        asked = [label for label, score in scores.items() if float(score) > CONTAMINATED]
        found = {}
        for label in asked:
            words = f"{FILTER}/wordlists-0.85/{label}.txt"
            if (lists / words).is_file():
                code = label.partition("_")[0]
                named = [str(name) for name in names.get(code, ()) if not str(name).startswith(".")]
                in_url = [f"url:{code}", *(f"url:*{name}*" for name in named)] if named else []
                entries = [f"{INSTALLED}{WORD_LISTS}/{words}", *in_url]
                found[label] = json.dumps(entries, ensure_ascii=False)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ModelError(f"{lists} has no lists of FineWeb2's precision filter: {error}") from error
    return found


def _value(stated: Mapping[str, Any], ngrams: Mapping[str, Mapping[int, Any]], key: Any) -> Any:
    return ngrams[key[0]].get(key[1]) if isinstance(key, tuple) else stated.get(key)


def _number(value: Any) -> str:
    """Write a number in its shortest form; nothing where the pipeline's own value holds."""
    return "" if value is None else f"{float(value):g}"
