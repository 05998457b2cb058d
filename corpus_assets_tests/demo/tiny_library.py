"""A small text library of made-up words, for tests that must not wait for the real one."""

import json
from pathlib import Path

import yaml

from corpus_assets.demo.draw import Draw

WORDS = (
    "amber", "basin", "candle", "drift", "ember", "fallow", "garnet", "hollow", "island", "jasper",
    "kettle", "ladder", "marsh", "nettle", "orchard", "pebble", "quarry", "river", "saddle",
    "timber", "umber", "valley", "willow", "yarrow", "zephyr", "anchor", "bramble", "cobble",
    "dapple", "elder", "furrow", "gravel", "harbour", "ivory", "juniper", "kindle", "lantern",
    "meadow", "northern", "oaken",
)  # fmt: skip


def sentence(draw: Draw, words: int = 15) -> str:
    """Words in a row, with a capital and a full stop."""
    text = " ".join(draw.choice(WORDS) for _ in range(words))
    return f"The {text}."


def write_tiny_library(root: Path) -> Path:
    """All files that the generator reads, three topics a language."""
    for lang in ("en", "de", "fr", "es", "it", "pl", "sv", "ja", "ru"):
        for topic in range(3):
            _bank(root, lang, f"topic{topic}")
    for lang in ("en", "de", "fr", "es"):
        for number in range(4):
            _written(root / "articles" / lang, f"essay-{number}", lang)
        _snippets(root, lang)
    for number in range(4):
        _written(root / "math", f"lemma-{number}", "math", " Let $x < 2$ and $y > 3$.")
    for number in range(1, 4):
        _written(root / "book", f"chapter-0{number}", "book")
    draw = Draw("tiny spam")
    frames = [f"Buy {{thing}} now! {sentence(draw, 9)}" for _ in range(9)]
    _yaml(root / "spam/en.yaml", {"frames": frames, "slots": {"thing": ["Gold", "Silver"]}})
    for name, count in (("questions", 30), ("code", 6)):
        items = [
            {
                "id": f"{name}-{number}",
                "benchmark": "tiny-qa" if name == "questions" else "tiny-code",
                "text": sentence(Draw("tiny eval", name, number), 24),
                "answer": "yes",
            }
            for number in range(count)
        ]
        _text(root / f"evals/{name}.jsonl", "".join(json.dumps(item) + "\n" for item in items))
    _yaml(root / "evals/quotes.yaml", {"frames": ["A quiz asked: {question} Nobody knew."]})
    for number in range(4):
        _text(root / f"code/sums{number}.py.txt", _program(number))
    return root


def _bank(root: Path, lang: str, topic: str) -> None:
    draw = Draw("tiny bank", lang, topic)
    sections = [
        {
            "name": f"part_{part}",
            "sentences": [
                sentence(draw).replace(".", " {count} times at {place}.") for _ in range(10)
            ],
        }
        for part in range(6)
    ]
    slots = {"count": ["three", "four", "five", "six"], "place": ["Aldmoor", "Berrick", "Colne"]}
    bank = {
        "topic": topic,
        "register": "news",
        "titles": [f"{sentence(draw, 5)[:-1]} in {{place}}" for _ in range(4)],
        "slots": slots,
        "sections": sections,
    }
    _yaml(root / f"banks/{lang}/{topic}.yaml", bank)


def _written(folder: Path, slug: str, kind: str, extra: str = "") -> None:
    draw = Draw("tiny written", str(folder.name), slug)
    paragraphs = [" ".join(sentence(draw) for _ in range(4)) + extra for _ in range(8)]
    head = f"# {sentence(draw, 4)[:-1]}\ntopic: {kind}\nregister: essay\n\n"
    _text(folder / f"{slug}.md", head + "\n\n".join(paragraphs) + "\n")


def _snippets(root: Path, lang: str) -> None:
    draw = Draw("tiny snippets", lang)
    kinds = {
        "cookie_banners": [f"Cookies {sentence(draw, 8)}" for _ in range(3)],
        "footers": [f"© {{site}} {sentence(draw, 4)}" for _ in range(3)],
        "nav_labels": [f"{lang.upper()}Label{number}" for number in range(9)],
        "sidebar_teasers": [f"Teaser {sentence(draw, 6)}" for _ in range(6)],
        "comments": [f"Comment {sentence(draw, 8)}" for _ in range(6)],
        "privacy_lines": [f"Privacy {sentence(draw, 9)}" for _ in range(4)],
    }
    if lang == "en":
        kinds["thin_pages"] = [f"Nothing here yet. {sentence(draw, 9)}" for _ in range(4)]
        kinds["contact_sentences"] = [
            "Write to {name} at {email} about it.",
            "The gate answers at {ip} for now.",
            "Ask {email} or look at {ip} first.",
        ]
    _yaml(root / f"snippets/{lang}.yaml", kinds)


def _program(number: int) -> str:
    return (
        "# SPDX-License-Identifier: MIT\n"
        f"# Sums, number {number}.\n\n"
        f"LIMIT = {100 + number}\n\n\n"
        "def add_all(values):\n    total = 0\n    for value in values:\n        total += value\n"
        "    return total\n\n\n"
        "def widest(values):\n    best_value = max(values)\n    return best_value + LIMIT\n\n\n"
        'if __name__ == "__main__":\n    print(add_all([1, 2, 3]), widest([250, 300]))\n'
    )


def _yaml(path: Path, value: object) -> None:
    _text(path, yaml.safe_dump(value, allow_unicode=True, sort_keys=False))


def _text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
