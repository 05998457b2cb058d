"""What each published recipe decides about real pages, beside the code of its authors.

    python -m venv PEER && PEER/bin/pip install --no-deps -r benchmarks/requirements-recipes.txt
    python benchmarks/recipe_decisions.py CRAWL.warc.gz ... --peer-python PEER/bin/python

Takes the main text of up to 1,000 pages once (trafilatura in precision mode) and gives the same
texts to both sides, so that rules are compared and not extraction. Each rule is asked alone, of
every text: a rule that a page would not have reached counts too, except where the authors' code
stops in the middle of a pass. Rules about models that a corpus trains are left out.

DCLM and RedPajama-V2 are no packages: name checkouts with `--dclm` and `--redpajama`. C4's rule of
bad words is compared where `--bad-words` names a list. What cannot be compared is named as that.
"""

import argparse
import csv
import gzip
import hashlib
import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from machine import machine
from signals import extract, table_of

from corpus_assets.models.files import model_at
from corpus_assets.recipe.load import load_recipe
from corpus_assets.select.rules import SelectionSettings
from corpus_assets.select.selection import select
from corpus_assets.signals.base import FILE
from corpus_assets.signals.stages.signals import compute_signals
from corpus_assets.text.batch import TextBatch

# Why sides differ where the code beside ours is not what the recipe's table is about.
THIRD_PARTY = {
    "repeated_lines": "lines of white space count there, and stripped lines are compared here",
    "repeated_line_chars": "the same; of all characters there",
    "repeated_paragraphs": "lines of white space divide paragraphs here",
    "top": "of several most frequent n-grams the first there, the one that covers most here; "
    "overlaps count twice there, n-grams that stand once and spaces between words too",
    "repeated": "first occurrences count here, as the paper says",
    "word_count": "words of nothing but punctuation are left out there",
    "word_length": "words of nothing but punctuation are left out there",
    "few_stop_words": "case counts there",
}
COMPARED = [
    *("c4", "ccnet", "dclm", "dolma", "fineweb", "fineweb-edu", "fineweb2", "gopher"),
    *("llama3-like", "nemotron-cc", "redpajama-v2"),
]
SIX = ("es", "fr", "ja", "pt", "ru", "zh")
MAX_CHARS = 4_000  # of a text that is no page
TLDS = "baselines/mappers/iana_tlds.txt"  # in a checkout of DCLM
PEER = Path(__file__).with_name("recipe_decisions_peer.py")
RECIPES = Path(__file__).resolve().parent.parent / "recipes"


class Text(NamedTuple):
    """What both sides get; a text without a language is in what lid.176 says."""

    text: str
    kind: str = "pages"
    language: str | None = None


class Row(NamedTuple):
    """A rule on both sides: texts asked about, dropped by each, and by one of them only."""

    recipe: str
    rule: str
    asked: int
    theirs: int
    ours: int
    only_theirs: int
    only_ours: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--pages", type=int, default=1000, help="at most so many")
    parser.add_argument("--recipes", nargs="+", default=COMPARED)
    parser.add_argument("--dclm", type=Path, help="a checkout of mlfoundations/dclm")
    parser.add_argument("--redpajama", type=Path, help="a checkout of RedPajama-Data")
    parser.add_argument("--bad-words", type=Path, help="a list, one entry a line")
    parser.add_argument(
        "--more",
        nargs="+",
        default=(),
        metavar="KIND[:LANGUAGE]=FILE",
        help="other texts (JSON lines, gzipped), asked in a language or in that of their `lang`",
    )
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="half of the texts, by hash; code by its source",
    )
    parser.add_argument("--result", type=Path, help="write agreement by rule and kind here, as CSV")
    parser.add_argument("--texts", type=Path, help="keep the extracted texts here, or take them")
    parser.add_argument(
        "--differences", type=Path, help="write pages that differ here, as JSON lines"
    )
    options = parser.parse_args()
    print(f"{machine()}\n")
    if options.texts and options.texts.exists():
        lines = options.texts.read_text(encoding="utf-8").splitlines()
        given = [Text(**json.loads(line)) for line in lines]
    else:
        found = spread(options.files, options.pages)
        given = [Text(text, "tables" if is_table(text) else "pages") for text in found]
        if options.held_out:
            given = [one for one in given if is_held_out(one.text[:200])]
        given += [one for spec in options.more for one in of_file(spec, options.held_out)]
        if options.texts:
            lines = "".join(json.dumps(one._asdict()) + "\n" for one in given)
            options.texts.write_text(lines, encoding="utf-8")
    texts = [one.text for one in given]
    print(
        f"{len(texts)} texts, {sum(map(len, texts)) / len(texts):.0f} characters each on average\n"
    )
    ours = {name: Ours(name, given, options.bad_words, options.dclm) for name in options.recipes}
    if not options.peer_python:
        print("No --peer-python: our side alone. Texts that each recipe's rules keep:\n")
        for name, side in ours.items():
            print(
                f"- {name}: {sum(not failed for failed in side.failed)}, {len(side.rules)} rules asked"
            )
        return
    theirs = peer(options, texts, ours)
    rows = compare(options.recipes, texts, ours, theirs, options.differences)
    agreement(rows, [one.kind for one in given], options.result)


def spread(files: list[Path], pages: int) -> list[str]:
    """As many texts of each file; later ones make up for a file that has fewer."""
    texts: list[str] = []
    for done, file in enumerate(files):
        texts += extract([file], -(-(pages - len(texts)) // (len(files) - done)))
    return texts


def is_held_out(key: str) -> bool:
    """Whether a text is in the half after which no rule was changed."""
    return bool(hashlib.blake2b(key.encode(), digest_size=8).digest()[0] & 1)


def is_table(text: str) -> bool:
    """Whether at least a quarter of the lines of a text are rows of cells."""
    lines = lines_of(text)
    return sum(line.count("|") > 1 for line in lines) * 4 >= len(lines)


def of_file(spec: str, held_out: bool) -> list[Text]:
    """Read `KIND[:LANGUAGE]=FILE`: JSON lines, gzipped, with `text`, `id`, `source` and `lang`."""
    named, _, path = spec.partition("=")
    kind, _, language = named.partition(":")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = []
    for row in rows:
        code = language or row["lang"].partition("-")[0]
        if held_out and not is_held_out(row["source" if language else "id"]):
            continue
        if language or code in SIX:
            text = row["text"][:MAX_CHARS]
            found.append(Text(text, kind if language else f"{kind} {code}", code))
    return found


class Judged(NamedTuple):
    """What both sides say of each text: it stays, goes, or (theirs) was not asked."""

    recipe: str
    rule: str
    theirs: list[bool | None]
    ours: list[bool]


class Ours:
    """A recipe's decisions: which rules each text fails, and what line rules leave of it."""

    def __init__(
        self, name: str, given: list[Text], bad_words: Path | None, dclm: Path | None
    ) -> None:
        texts = [one.text for one in given]
        recipe = load_recipe(RECIPES / f"{name}.yaml")
        families: list[Any] = []
        known = {"n_chars"}
        models = {"lid": model_at("lid.176").path}
        for family in recipe.signals.families:
            if family.family == "bad_words" and bad_words:
                family = family.model_copy(update={"word_lists": (str(bad_words),)})
                models[FILE + str(bad_words)] = bad_words
            if family.family == "dclm_text" and dclm:
                listed = (dclm / TLDS).read_text(encoding="utf-8").split()
                family = family.model_copy(update={"tlds": tuple(listed)})
            if set(family.needs()) <= set(models) and set(family.reads()) <= known:
                families.append(family)
                known |= set(family.columns())
        table = table_of(texts)
        settings = recipe.signals.only(tuple(families))
        signals = compute_signals(table, settings, models)
        if name == "fineweb2":
            signals = _in_languages(signals, given, families)
        rules = [
            rule.model_copy(update={"where": None})
            for rule in recipe.selection.rules
            if rule.signal in known and rule.cutoff is None
        ]
        decided = select(table, signals, SelectionSettings(rules=tuple(rules)), {})
        self.rules = [rule.name for rule in rules]
        self.absent = [rule.name for rule in recipe.selection.rules if rule.name not in self.rules]
        self.failed = [set(names) for names in decided["failed_rules"].to_pylist()]
        self.languages = signals["language"].to_pylist()
        self.left: dict[str, list[str]] = {}
        batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
        for step in settings.text_steps():
            batch = step.rewrite(batch).left
            self.left[step.family] = batch.texts.to_pylist()
        self.stop_words: dict[str, list[str]] = {}
        self.thresholds: dict[str, dict[str, float]] = {}
        if name == "fineweb2":
            self._languages_of(recipe)

    def _languages_of(self, recipe: Any) -> None:
        """The arguments of each language, which the authors' files and our table share."""
        (stops,) = (f for f in recipe.signals.families if f.family == "stop_words")
        self.stop_words = {code: list(words) for code, words in stops.languages.items()}
        with open(RECIPES / "fineweb2-languages.csv", newline="", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                code = row.pop("language")
                del row["stop_words"]
                self.thresholds[code] = {key: float(value) for key, value in row.items()}


def _in_languages(signals: pa.Table, given: list[Text], families: list[Any]) -> pa.Table:
    """Return signals with the languages in which texts are asked, where these are said, and with the
    stop words of these languages."""
    found = signals["language"].to_pylist()
    said = [one.language or language for one, language in zip(given, found, strict=True)]
    (stops,) = (family for family in families if family.family == "stop_words")
    batch = TextBatch.from_arrow(pa.array([one.text for one in given], pa.large_string()))
    batch.columns["language"] = pa.array(said, pa.string())
    changed = {"language": batch.columns["language"]}
    changed["stop_words"] = stops.with_words("segmented").compute(batch, {}).column(0)
    for name, column in changed.items():
        signals = signals.set_column(signals.schema.get_field_index(name), name, column)
    return signals


def peer(options: argparse.Namespace, texts: list[str], ours: dict[str, Ours]) -> dict[str, Any]:
    """Run the authors' code in its own environment."""
    second = ours.get("fineweb2")
    job = {
        "recipes": options.recipes,
        "texts": texts,
        "languages": second.languages if second else [],
        "fineweb2": {
            "thresholds": second.thresholds if second else {},
            "stop_words": second.stop_words if second else {},
        },
        "lid": str(model_at("lid.176").path),
        "bad_words": str(options.bad_words.resolve()) if options.bad_words else None,
        "dclm": str(options.dclm.resolve()) if options.dclm else None,
        "redpajama": str(options.redpajama.resolve()) if options.redpajama else None,
    }
    with tempfile.TemporaryDirectory() as folder:
        given, result = Path(folder, "job.json"), Path(folder, "out.json")
        given.write_text(json.dumps(job), encoding="utf-8")
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [str(options.peer_python), str(PEER), str(given), str(result)]
        subprocess.run(command, check=True, env=environment)
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return found


def compare(
    recipes: list[str],
    texts: list[str],
    ours: dict[str, Ours],
    theirs: dict[str, Any],
    differences: Path | None,
) -> list[Judged]:
    """Print what differs; return each rule's answers, text by text."""
    print("| recipe | rule | asked | dropped there | dropped here | there only | here only | why |")
    print("|---|---|---|---|---|---|---|---|")
    notes, shown, rows, judged = [], [], [], list[Judged]()
    for name in recipes:
        there = theirs.get(name, {"absent": "its authors' code is not part of this comparison"})
        if "absent" in there:
            notes.append(f"- {name}: not compared: {there['absent']}")
            continue
        side = ours[name]
        compared: set[str] = set()
        for rule, keeps in there["rules"].items():
            parts = set(rule.split("+"))
            compared |= parts
            here = [not parts & failed for failed in side.failed]
            row, pages = one_rule(name, rule, keeps, here)
            rows.append(row)
            judged.append(Judged(name, rule, keeps, here))
            why = reason(name, rule) if pages else ""
            print("| " + " | ".join(map(str, (*row, why))) + " |")
            shown += [(name, rule, keeps[n], here[n], texts[n]) for n in pages]
        for step, left in there.get("left", {}).items():
            same = [
                lines_of(text) == lines_of(side.left[step][n])
                for n, text in enumerate(left)
                if text is not None
            ]
            print(
                f"| {name} | text after {step} | {len(same)} | | | differs in {same.count(False)} | | |"
            )
            shown += [
                (name, step, text, side.left[step][n], texts[n])
                for n, text in enumerate(left)
                if text is not None and lines_of(text) != lines_of(side.left[step][n])
            ]
        rest = [rule for rule in side.rules + side.absent if rule not in compared]
        tail = f"; not compared: {', '.join(rest)}" if rest else ""
        notes.append(f"- {name}: {there['by']}{tail}")
    print("\n" + "\n".join(notes) + "\n")
    print("| recipe | rules asked | the same everywhere | decisions | that differ |")
    print("|---|---|---|---|---|")
    for name in dict.fromkeys(row.recipe for row in rows):
        own = [row for row in rows if row.recipe == name]
        different = [row.only_theirs + row.only_ours for row in own]
        asked = sum(row.asked for row in own)
        print(
            f"| {name} | {len(own)} | {different.count(0)} | {asked:,} "
            f"| {sum(different)} ({sum(different) / asked:.2%}) |"
        )
    if differences:
        keys = ("recipe", "rule", "theirs", "ours", "text")
        lines = (json.dumps(dict(zip(keys, one, strict=True))) + "\n" for one in shown)
        differences.write_text("".join(lines), encoding="utf-8")
    return judged


def agreement(judged: list[Judged], kinds: list[str], result: Path | None) -> None:
    """Print and write how many decisions differ by recipe, rule and kind of text."""
    found: Counter[tuple[str, str, str]] = Counter()
    differ: Counter[tuple[str, str, str]] = Counter()
    for recipe, rule, keeps, here in judged:
        for kind, there, ours in zip(kinds, keeps, here, strict=True):
            if there is not None:
                found[recipe, rule, kind] += 1
                differ[recipe, rule, kind] += there != ours
    print("\n| recipe | kind | decisions | that differ |\n|---|---|---|---|")
    for recipe, kind in dict.fromkeys((recipe, kind) for recipe, _, kind in found):
        asked, n = (
            sum(count for (r, _, k), count in of.items() if (r, k) == (recipe, kind))
            for of in (found, differ)
        )
        print(f"| {recipe} | {kind} | {asked:,} | {n} ({n / asked:.2%}) |")
    if result:
        with open(result, "w", newline="", encoding="utf-8") as out:
            rows = csv.writer(out, lineterminator="\n")
            rows.writerow(("recipe", "rule", "kind", "decisions", "differ"))
            rows.writerows((*key, n, differ[key]) for key, n in found.items())


def reason(recipe: str, rule: str) -> str:
    """Why a rule may decide otherwise here, as the table of the recipe's sources says."""
    if recipe == "gopher":
        kind = rule if rule in THIRD_PARTY else rule.split("_")[0]
        return THIRD_PARTY.get(kind, "not named")
    with open(RECIPES / "sources" / f"{recipe}.csv", newline="", encoding="utf-8") as lines:
        told = {row["setting"]: row["because"] for row in csv.DictReader(lines)}
    found = [told.get(f"selection.rules.{part}", "") for part in rule.split("+")]
    return "; ".join(dict.fromkeys(filter(None, found))) or "not named"


def one_rule(
    recipe: str, rule: str, keeps: list[bool | None], here: list[bool]
) -> tuple[Row, list[int]]:
    asked = [n for n, keep in enumerate(keeps) if keep is not None]
    different = [n for n in asked if keeps[n] != here[n]]
    row = Row(
        recipe,
        rule,
        len(asked),
        sum(not keeps[n] for n in asked),
        sum(not here[n] for n in asked),
        sum(not keeps[n] for n in different),
        sum(not here[n] for n in different),
    )
    return row, different


def lines_of(text: str) -> list[str]:
    return list(_inked(text))


def _inked(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if stripped := line.strip():
            yield stripped


if __name__ == "__main__":
    main()
