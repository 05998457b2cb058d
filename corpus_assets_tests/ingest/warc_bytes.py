"""WARC files written by hand, sound and broken."""

import gzip

PROSE = "The lighthouse keeper counted ships every evening and wrote them down in a long book. "


def page(words: str = PROSE, title: str = "A page", head: str = "") -> bytes:
    """An article of a few paragraphs that an extractor takes for one."""
    paragraphs = "".join(f"<p>{words} Paragraph {n}. {words}</p>" for n in range(6))
    return (
        f"<!DOCTYPE html><html lang='en'><head><title>{title}</title>{head}</head>"
        f"<body><article><h1>{title}</h1>{paragraphs}</article></body></html>"
    ).encode()


def http(
    body: bytes, headers: str = "Content-Type: text/html; charset=utf-8", status: int = 200
) -> bytes:
    head = (
        f"HTTP/1.1 {status} Whatever\r\n{headers}\r\n\r\n"
        if headers
        else f"HTTP/1.1 {status} X\r\n\r\n"
    )
    return head.encode() + body


def record(
    block: bytes,
    url: str | None = "http://example.com/",
    kind: str = "response",
    content_type: str = "application/http; msgtype=response",
    version: str = "1.0",
    extra: str = "",
    length: int | str | None = None,
    record_id: str = "<urn:uuid:00000000-0000-0000-0000-000000000001>",
    date: str = "2024-03-01T12:00:00Z",
) -> bytes:
    """One record; `length` overrides what Content-Length says."""
    lines = [f"WARC/{version}", f"WARC-Type: {kind}", f"WARC-Date: {date}"]
    lines += [f"WARC-Record-ID: {record_id}"] if record_id else []
    lines += [f"WARC-Target-URI: {url}"] if url is not None else []
    lines += [f"Content-Type: {content_type}"]
    lines += [extra] if extra else []
    lines += [f"Content-Length: {len(block) if length is None else length}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def response(url: str | None, body: bytes | None = None, **more: object) -> bytes:
    headers = str(more.pop("headers", "Content-Type: text/html; charset=utf-8"))
    status = int(str(more.pop("status", 200)))
    block = http(page() if body is None else body, headers, status)
    return record(block, url=url, **more)  # type: ignore[arg-type]


def member(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def members(*records: bytes) -> bytes:
    return b"".join(member(each) for each in records)
