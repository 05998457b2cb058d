import sys

import pytest

from corpus_assets.core.file_spool import FileSpool


@pytest.mark.parametrize("held_bytes", [0, 5, 1 << 20], ids=["on disk", "both", "in memory"])
def test_files_come_back_as_they_went_in_memory_or_not(held_bytes: int) -> None:
    spool = FileSpool(held_bytes)
    files = {"a": (b"one", 1), "empty": (b"", 0), "b": (b"\x00two\n" * 99, 7)}
    for name, (data, rows) in files.items():
        spool.add(name, data, rows)
    assert dict(spool) == files
    assert list(spool) == ["a", "empty", "b"]
    spool.add("a", b"again", 2)
    assert spool["a"] == (b"again", 2)
    assert len(spool) == 3
    with pytest.raises(KeyError):
        spool["c"]
    spool.close()


def test_what_was_never_filled_is_let_go_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop signal within `__init__` leaves such an object behind."""
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    spool = FileSpool.__new__(FileSpool)
    del spool
    assert told == []
