"""Damage pages as crawls do: broken markup, wrong encodings, other content types.

Every damage here leaves the words of the article in the page. Damage to the archive itself
(a cut or corrupt record) is in `warc.py`.
"""

import json
import re
import struct
import zlib

from corpus_assets.demo.draw import Draw

_LEGACY = {"de": "windows-1252", "fr": "iso-8859-1", "es": "iso-8859-1", "ja": "shift_jis"}
_CODEC = {"windows-1252": "cp1252", "iso-8859-1": "latin-1", "shift_jis": "cp932"}


def legacy_charset(lang: str) -> str:
    """Return the charset that an old site in this language would declare."""
    return _LEGACY.get(lang, "windows-1252")


def encode(page: str, charset: str) -> bytes:
    """Encode; what the charset lacks becomes a character reference, as an editor would do."""
    return page.encode(_CODEC.get(charset, charset), "xmlcharrefreplace")


def break_markup(page: str, draw: Draw) -> str:
    """Unclosed paragraphs, crossed tags, stray closers, bare attributes, a second body."""
    kind = draw.below(4)
    head, mark, body = page.partition("<body")
    if kind in (0, 3):
        body = _every(body, "</p>", "", 2)
        body = body.replace("</li>", "")
    if kind in (1, 3):
        body = _every(body, "<p>", "<p><font face=Verdana size=2><b><i></b></i>", 3)
        body = _every(body, "</p>", "</span></td></p>", 4)
    if kind == 2:
        body = re.sub(r' (class|id|href)="([\w/-]+)"', r" \1=\2", body)
        body = body.replace("</header>", "</header></header><div><div><center>", 1)
    if kind in (0, 2):
        body = body.replace("</body>", "</body></html><body>").replace("</html>\n", "")
        body += "\n<p><!-- unfinished <a href="
    body = _every(body, ". ", ".\x0b ", 40) if kind == 1 else body
    return head + mark + body


def lying_charset(page: str, draw: Draw) -> tuple[bytes, str | None, str]:
    """Bytes, the charset of the HTTP header, and what is wrong with the two.

    The page's own <meta> must have been left out or lie as well; see the caller.
    """
    kind = draw.below(3)
    if kind == 0:
        return encode(page, "windows-1252"), "utf-8", "windows-1252 bytes declared as utf-8"
    if kind == 1:
        return encode(page, "iso-8859-1"), None, "latin-1 bytes, no declaration"
    data = bytearray(page.encode("utf-8"))
    end = data.rfind(b"</p>")
    places = [match.end() for match in re.finditer(rb"\. ", bytes(data[:end]))]
    for place in sorted(draw.sample(places, 3), reverse=True):
        data[place:place] = draw.choice((b"\xff\xfe", b"\xc3", b"\xe2\x80"))
    return bytes(data), "utf-8", "utf-8 with invalid bytes"


def too_large_page(title: str, site: str) -> str:
    """About 3 MB of one table row after another."""
    row = '<tr class="row"><td class="cell">0.00</td><td class="cell">&nbsp;</td></tr>\n'
    rows = "".join(row for _ in range(3_100_000 // len(row)))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"</head><body><h1>{title}</h1><p>{site}</p><table>\n{rows}</table></body></html>"
    )


def error_page(status: int, site: str) -> str:
    """Return what a server says when there is no page."""
    word = {404: "Page not found", 500: "Something went wrong"}[status]
    return (
        f"<!DOCTYPE html>\n<html><head><title>{status} {word}</title></head><body><h1>{word}</h1>"
        f"<p>The page you asked for is not here. Go back to <a href='/'>{site}</a> or use the "
        "search to find what you were looking for.</p></body></html>"
    )


def redirect_page(target: str) -> str:
    """Return the body that servers send along with a 301."""
    return (
        "<html>\n<head><title>301 Moved Permanently</title></head>\n<body>\n"
        f'<h1>Moved Permanently</h1><p>The document has moved <a href="{target}">here</a>.</p>\n'
        "</body></html>\n"
    )


def pdf_bytes(text: str) -> bytes:
    """Return a one-page PDF that says `text`."""
    safe = re.sub(r"[^A-Za-z0-9 .,]", "", text)[:90]
    stream = f"BT /F1 12 Tf 72 720 Td ({safe}) Tj ET".encode("ascii")
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    out = bytearray(b"%PDF-1.4\n")
    starts = []
    for number, content in enumerate(objects, 1):
        starts.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % s for s in starts)
    out += b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % table
    return bytes(out)


def png_bytes(draw: Draw) -> bytes:
    """Return a 16 by 16 picture of one colour; stored blocks, so no zlib can make it differ."""
    pixel = draw.bits64().to_bytes(8, "little")[:3]
    raw = (b"\x00" + pixel * 16) * 16
    stored = b"\x01" + struct.pack("<HH", len(raw), len(raw) ^ 0xFFFF) + raw
    packed = b"\x78\x01" + stored + struct.pack(">I", zlib.adler32(raw))
    header = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def json_bytes(title: str, text: str) -> bytes:
    """Return what a page's interface would hand to a script."""
    return json.dumps({"title": title, "body": text}, ensure_ascii=False).encode("utf-8")


def _every(text: str, old: str, new: str, step: int) -> str:
    """Replace each `step`-th occurrence."""
    pieces = text.split(old)
    out = [pieces[0]]
    for number, piece in enumerate(pieces[1:], 1):
        out.append((new if number % step == 0 else old) + piece)
    return "".join(out)
