"""Words of scripts without spaces: how fast they are found, and what rules then keep.

    python benchmarks/segmentation.py
    python benchmarks/segmentation.py --warc snapshot-*.warc.gz --manifest manifest.jsonl.gz

The second form extracts the pages of some languages (`lang` by `record_id` in the manifest, the first
capture of each) and says how many the rules of the demo recipe keep, by language, in two halves
(by a hash of the record). Rules about language and quality are left out.
"""

import argparse
import gzip
import hashlib
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from fastwarc.warc import ArchiveIterator, WarcRecordType
from machine import machine

from corpus_assets.ingest.extract.extractor import Extractor
from corpus_assets.ingest.extract.settings import ExtractionSettings
from corpus_assets.models.files import model_at
from corpus_assets.recipe.load import load_recipe
from corpus_assets.select.rules import SelectionSettings
from corpus_assets.select.selection import select
from corpus_assets.signals.base import CountsWords, WordBreaks
from corpus_assets.signals.stages.signals import compute_signals
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.segment import SEGMENTER

RECIPE = Path(__file__).parents[1] / "recipes/demo.yaml"
LEFT_OUT = ("language", "language_confidence", "low_quality", "generated_code")
SENTENCES = {
    "English": "The weather over the northern coast was calm, and the boats came home early. ",
    "Chinese": "今天北方沿海的天气很平静，渔船都早早地回到了港口。",
    "Japanese": "北の海岸の天気は穏やかで、船は夜になる前に港へ戻ってきました。",
    "Thai": "อากาศที่ชายฝั่งทางเหนือสงบและเรือกลับบ้านก่อนค่ำ ",
    "Khmer": "អាកាសធាតុនៅឆ្នេរខាងជើងស្ងប់ស្ងាត់ហើយទូកបានត្រឡប់មកវិញ។ ",
    "Lao": "ອາກາດຢູ່ຝັ່ງທະເລທາງເໜືອສະຫງົບ ແລະ ເຮືອກັບມາກ່ອນຄ່ຳ ",
    "Burmese": "မြောက်ပိုင်းကမ်းရိုးတန်း၏ရာသီဥတုသည်ငြိမ်သက်ပြီးလှေများပြန်လာကြသည်။ ",
    "Tibetan": "བྱང་ཕྱོགས་མཚོ་འགྲམ་གྱི་གནམ་གཤིས་ཞི་འཇམ་རེད། ",
}
ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--warc", nargs="*", type=Path, default=[])
    parser.add_argument("--manifest", type=Path)
    parser.add_argument("--languages", nargs="*", default=["zh", "ja", "th"])
    options = parser.parse_args()
    print(f"{machine()}; {SEGMENTER}\n")
    print(f"{'text':<12}{'white space MB/s':>18}{'segmented MB/s':>18}{'words':>12}")
    for name, sentence in SENTENCES.items():
        measure(name, [sentence * (5_000 // len(sentence))] * 200)
    if options.warc:
        survival(*pages_of(options.warc, options.manifest, set(options.languages)))


def measure(name: str, texts: list[str]) -> None:
    speeds = []
    for _ in range(ROUNDS + 1):  # the first compiles
        batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
        began = time.process_time()
        words = batch.words
        between = time.process_time()
        found = batch.segments
        speeds.append((between - began, time.process_time() - between))
    split, apart = (min(times) for times in zip(*speeds[1:], strict=True))
    size = batch.data.size / 1e6
    extra = f"{size / apart:>18.1f}" if found is not words else f"{'nothing to do':>18}"
    print(f"{name:<12}{size / split:>18.1f}{extra}{found.spans.shape[0]:>12,}")


def pages_of(files: list[Path], manifest: Path, languages: set[str]) -> tuple[pa.Table, list[str]]:
    """Extracted pages as documents, and the language of each."""
    with gzip.open(manifest, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    known = {
        row["record_id"]: row["lang"]
        for row in rows
        if row["lang"] in languages and row["relation"]["type"] == "new"
    }
    found: list[tuple[bytes, str, bytes]] = []
    for file in files:
        with open(file, "rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                name = record.headers["WARC-Record-ID"].strip("<>")
                if name in known:
                    key = hashlib.sha256(name.encode()).digest()[:16]
                    found.append((key, known[name], record.reader.read()))
    extractor = Extractor(ExtractionSettings(engine="trafilatura", mode="fast"))
    texts = [page.text for page in extractor.extract_all([page for _, _, page in found])]
    documents = pa.table(
        {
            "doc_id": pa.array([key for key, _, _ in found], pa.binary(16)),
            "domain": pa.array(["web"] * len(found)),
            "text": pa.array(texts, pa.large_string()),
        }
    )
    return documents, [language for _, language, _ in found]


def survival(documents: pa.Table, languages: list[str]) -> None:
    recipe = load_recipe(RECIPE)
    rules = tuple(rule for rule in recipe.selection.rules if rule.name not in LEFT_OUT)
    halves = [key[0] % 2 for key in documents["doc_id"].to_pylist()]
    both: tuple[WordBreaks, ...] = ("white_space", "segmented")
    for breaks in both:
        families = tuple(
            family.with_words(breaks) if isinstance(family, CountsWords) else family
            for family in recipe.signals.families
            if family.family != "classifier"
        )
        models = {"lid": model_at("lid.176").path}
        signals = compute_signals(documents, recipe.signals.only(families), models)
        chosen = select(documents, signals, SelectionSettings(rules=rules), {}).to_pylist()
        print(f"\n{breaks}: pages that the demo's rules keep, and the rules that fail most")
        for language in dict.fromkeys(languages):
            for half in (0, 1):
                rows: list[Any] = [
                    row
                    for row, name, side in zip(chosen, languages, halves, strict=True)
                    if (name, side) == (language, half)
                ]
                failed = Counter(rule for row in rows for rule in row["failed_rules"])
                named = ", ".join(f"{rule} {n}" for rule, n in failed.most_common(4))
                kept = sum(row["kept"] for row in rows)
                print(f"{language:<4}half {half}: {kept:>4} of {len(rows):>4}   {named}")


if __name__ == "__main__":
    main()
