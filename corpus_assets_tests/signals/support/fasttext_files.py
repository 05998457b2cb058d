"""Small fastText models, trained where they are needed."""

import hashlib
import random
from pathlib import Path

GERMAN = [
    "der",
    "die",
    "das",
    "und",
    "ist",
    "nicht",
    "ein",
    "haus",
    "fluss",
    "weil",
    "schreiben",
    "während",
    "größe",
]


def fasttext_file(path: Path, texts: dict[str, list[str]]) -> str:
    """Train a small softmax model over labels; its digest."""
    import fasttext

    lines = [
        f"__label__{label} {' '.join(text.split())}\n" for label, ts in texts.items() for text in ts
    ]
    random.Random(1).shuffle(lines)
    source = path.with_suffix(".txt")
    source.write_text("".join(lines), encoding="utf-8")
    model = fasttext.train_supervised(
        str(source), dim=8, minn=2, maxn=4, bucket=5_000, epoch=10, thread=1, verbose=0
    )
    model.save_model(str(path))
    return hashlib.sha256(path.read_bytes()).hexdigest()
