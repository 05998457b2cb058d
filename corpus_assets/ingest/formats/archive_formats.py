"""Web archives in formats that are not read: refused by name, before any work is done."""

from collections.abc import Iterable

from corpus_assets.core.errors import SourceError

MAGIC_BYTES = 11

_FORMATS = {
    "ARC": (
        (".arc", ".arc.gz"),
        (b"filedesc://",),
        "convert it to WARC (`warcio recompress`)",
    ),
    "Zstandard": (
        (".warc.zst", ".wet.zst"),
        (b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18"),  # a frame, or one with a dictionary
        "unpack it to .warc, or compress its records with gzip",
    ),
}


def refuse_formats(names: Iterable[str], beginning: bytes = b"") -> None:
    """SourceError for the first file that is an archive in another format, by its name or by how
    it begins."""
    for name in names:
        for format, (suffixes, magics, advice) in _FORMATS.items():
            if name.lower().endswith(suffixes) or beginning.startswith(magics):
                raise SourceError(f"{name}: {format} archives are not read; {advice}")
