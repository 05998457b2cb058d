"""People's judgements of near misses: `drop`, `cut` or `keep`, recorded in a file.

A file holds one JSON object a line. It counts by its content, like every file that a recipe names,
and speaks of a text by its id, so it holds for every capture of the text and for no other.
"""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pyarrow as pa
from pydantic import Field, ValidationError, field_validator

from corpus_assets.core.errors import SourceError
from corpus_assets.core.identity import Settings
from corpus_assets.core.schemas import JUDGEMENTS
from corpus_assets.core.store import LocalStore

VERSION = 1

Choice = Literal["drop", "cut", "keep"]
Judgements = dict[tuple[bytes, str, str], str]  # (text id, benchmark, item) -> choice


class Judgement(Settings):
    """One line of a file of judgements."""

    text_id: str
    benchmark: str
    item_id: str
    judgement: Choice
    by: str = Field(default="", description="reviewer")
    reason: str = ""
    at: str = Field(default="", description="time, in UTC")

    @field_validator("text_id")
    @classmethod
    def _is_digest(cls, value: str) -> str:
        if not re.fullmatch(r"[0-9a-f]{32}", value):
            raise ValueError("a text id has 32 hexadecimal digits")
        return value

    @property
    def about(self) -> tuple[bytes, str, str]:
        return bytes.fromhex(self.text_id), self.benchmark, self.item_id


def read_judgements(paths: Iterable[Path]) -> list[Judgement]:
    """Return the judgements of files, sorted; the same one may stand there twice, no other."""
    found: dict[tuple[bytes, str, str], Judgement] = {}
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"{path}: the judgements cannot be read: {error}") from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                one = Judgement.model_validate_json(line)
            except ValidationError as error:
                detail = error.errors()[0]["msg"]
                raise SourceError(
                    f"{path}, line {number}: no judgement ({detail}); repair or remove the line"
                ) from error
            if found.setdefault(one.about, one).judgement != one.judgement:
                raise SourceError(
                    f"{path}, line {number}: {one.benchmark}/{one.item_id} in text {one.text_id} "
                    "was judged otherwise before; keep one of the two lines"
                )
    return [found[key] for key in sorted(found)]


def as_table(judgements: Sequence[Judgement]) -> pa.Table:
    """Return schema JUDGEMENTS: what decides, without reviewer and reason."""
    rows = [
        dict(zip(JUDGEMENTS.names, (*one.about, one.judgement), strict=True)) for one in judgements
    ]
    return pa.Table.from_pylist(rows, schema=JUDGEMENTS)


def of_table(table: pa.Table) -> Judgements:
    """Return what `as_table` wrote."""
    columns = (table[name].to_pylist() for name in JUDGEMENTS.names)
    return {(text, name, item): choice for text, name, item, choice in zip(*columns, strict=True)}


def record_judgement(
    path: Path, text_id: bytes, name: tuple[str, str], choice: Choice, by: str, why: str
) -> None:
    """Write a judgement to a file, in place of an earlier one about the same."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    one = Judgement(
        text_id=text_id.hex(),
        benchmark=name[0],
        item_id=name[1],
        judgement=choice,
        by=by,
        reason=why,
        at=now,
    )
    known = {other.about: other for other in (read_judgements([path]) if path.exists() else [])}
    known[one.about] = one
    lines = [json.dumps(known[key].model_dump(), ensure_ascii=False) for key in sorted(known)]
    whole = "".join(f"{line}\n" for line in lines)
    LocalStore(path.parent).write(path.name, whole.encode())  # or what was recorded before stays
