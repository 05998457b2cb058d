"""What judges need: benchmark files, good and bad texts for a quality model, the blocklist."""

from pathlib import Path

from corpus_assets.demo import plan
from corpus_assets.demo.compose import compose, from_written
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import Library
from corpus_assets.demo.others import Row, json_lines
from corpus_assets.demo.sites import SITES
from corpus_assets.demo.texts import spam, thin

_SHARES = {"en": 60, "de": 15, "fr": 13, "es": 12}  # percent of the quality texts


def write_evals(library: Library, out: Path) -> None:
    """`evals/<benchmark>.jsonl`: id, benchmark, text, answer."""
    by_benchmark: dict[str, list[Row]] = {}
    for item in (*library.questions, *library.code_questions):
        row = {"id": item.id, "benchmark": item.benchmark, "text": item.text, "answer": item.answer}
        by_benchmark.setdefault(item.benchmark, []).append(row)
    folder = out / "evals"
    folder.mkdir(parents=True, exist_ok=True)
    for benchmark in sorted(by_benchmark):
        (folder / f"{benchmark}.jsonl").write_bytes(json_lines(by_benchmark[benchmark]))


def write_quality(library: Library, out: Path) -> None:
    """`quality/positives.jsonl` and `negatives.jsonl`: id, lang, text; `QUALITY_TEXTS` each."""
    folder = out / "quality"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "positives.jsonl").write_bytes(json_lines(_positives(library)))
    (folder / "negatives.jsonl").write_bytes(json_lines(_negatives(library)))


def write_blocklist(out: Path) -> None:
    """`blocklist.txt`: one host a line, comments after #."""
    hosts = [site.host for site in SITES if site.kind == "blocked"]
    lines = ["# Hosts whose pages the demo corpus does not take.", *hosts]
    (out / "blocklist.txt").write_bytes(("\n".join(lines) + "\n").encode("utf-8"))


def _counts() -> dict[str, int]:
    counts = {lang: plan.QUALITY_TEXTS * share // 100 for lang, share in _SHARES.items()}
    counts["en"] += plan.QUALITY_TEXTS - sum(counts.values())
    return counts


def _positives(library: Library) -> list[Row]:
    rows: list[Row] = []
    for lang, count in _counts().items():
        written = [from_written(text).text() for text in library.articles.get(lang, ())]
        banks = library.banks[lang]
        for number in range(count):
            if number < len(written) and number < count // 3:
                text = written[number]
            else:
                draw = Draw("quality positive", lang, number)
                text = compose(banks[number % len(banks)], draw, "positive").text()
            rows.append({"id": f"positive-{lang}-{number:03}", "lang": lang, "text": text})
    return rows


def _negatives(library: Library) -> list[Row]:
    rows: list[Row] = []
    for lang, count in _counts().items():
        for number in range(count):
            draw = Draw("quality negative", lang, number)
            kind = number % 5
            if lang == "en" and kind < 3:
                text = spam(library, draw, "negative").text()
            elif kind == 3:
                banks = library.banks[lang]
                full = compose(banks[number % len(banks)], draw, "negative")
                text = thin(library, lang, full, draw, "negative").text()
            else:
                text = _boilerplate(library, lang, draw)
            rows.append({"id": f"negative-{lang}-{number:03}", "lang": lang, "text": text})
    return rows


def _boilerplate(library: Library, lang: str, draw: Draw) -> str:
    """What is left of a page when its article is taken out: menus, notices, teasers."""
    snippets = library.snippets[lang]
    lines = [
        " | ".join(draw.sample(snippets["nav_labels"], 6)),
        draw.choice(snippets["cookie_banners"]),
        *draw.sample(snippets["sidebar_teasers"], draw.between(2, 5)),
        *draw.sample(snippets["privacy_lines"], draw.between(1, 3)),
        " ".join(draw.sample(snippets["nav_labels"], 5)),
        draw.choice(snippets["footers"]),
    ]
    name = draw.choice([site.name for site in SITES if site.lang == lang])
    return "\n".join(line.replace("{site}", name) for line in lines)
