"""The charset that markup declares, found as browsers find it before they parse.

This is "prescan a byte stream" of the HTML standard (13.2.3.2): comments are passed over, and so
are attributes of other tags, whatever they hold; of `<meta>` counts a `charset`, or a `content` with
`http-equiv=content-type`. What is in a script or a title counts too, as it does there.
"""

import re

_BLANK = rb"\t\n\f\r "
_META = re.compile(rb"<meta(?=[\t\n\f\r /])", re.IGNORECASE)
_TAG = re.compile(rb"</?[A-Za-z][^\t\n\f\r >]*+")
_ATTRIBUTE = re.compile(
    rb"[%(blank)s/]*+(=?[^%(blank)s/=>]*+)[%(blank)s]*+"
    rb"(?:=[%(blank)s]*+(?:\"([^\"]*+)(\"?)|'([^']*+)('?)|([^%(blank)s>]*+)))?" % {b"blank": _BLANK}
)
_CONTENT = re.compile(
    rb"charset[%(blank)s]*=[%(blank)s]*(?:\"([^\"]*)\"|'([^']*)'|([^%(blank)s;\"'][^%(blank)s;]*))"
    % {b"blank": _BLANK},
    re.IGNORECASE,
)
_XML = re.compile(rb"\s*<\?xml\b[^>]{0,256}?\bencoding\s*=\s*[\"']([\w.:-]{1,40})", re.IGNORECASE)


def declared_labels(head: bytes) -> list[str]:
    """Labels that the beginning of a page declares: of an XML declaration, of its `<meta>` tags."""
    xml = _XML.match(head)
    labels = [xml[1]] if xml else []
    at = head.find(b"<")
    while at >= 0:
        meta = _META.match(head, at)
        tag = meta or _TAG.match(head, at)
        if tag is not None:
            at, attributes = _attributes(head, tag.end())
            label = _label(attributes) if meta else None
            labels += [label] if label else []
        elif head.startswith(b"<!--", at):
            at = _after(head, b"-->", at + 2)  # `<!-->` is a whole one
        elif head[at + 1 : at + 2] in (b"!", b"/", b"?"):
            at = _after(head, b">", at + 1)
        else:
            at += 1
        at = -1 if at < 0 else head.find(b"<", at)
    return [label.decode("ascii", "replace") for label in labels]


def _attributes(head: bytes, at: int) -> tuple[int, dict[bytes, bytes]]:
    """Attributes of a tag, of equal names the first, and the place after them; -1 in the middle
    of one."""
    found: dict[bytes, bytes] = {}
    while at < len(head):
        if attribute := _ATTRIBUTE.match(head, at):
            name, double, double_end, single, single_end, bare = attribute.groups()
            if (double is not None and not double_end) or (single is not None and not single_end):
                return -1, {}
            at = attribute.end()
            if not name:
                return at + 1, found
            found.setdefault(name.lower(), double or single or bare or b"")
    return -1, {}


def _label(meta: dict[bytes, bytes]) -> bytes | None:
    if b"charset" in meta:
        return meta[b"charset"].strip()
    if meta.get(b"http-equiv", b"").lower() != b"content-type":
        return None
    found = _CONTENT.search(meta.get(b"content", b""))
    return (found[1] or found[2] or found[3]) if found else None


def _after(head: bytes, end: bytes, at: int) -> int:
    found = head.find(end, at)
    return -1 if found < 0 else found + len(end)
