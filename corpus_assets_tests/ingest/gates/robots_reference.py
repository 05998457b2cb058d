"""RFC 9309 once more, slow and plain: regular expressions, no index, no tricks."""

import re
from urllib.parse import quote, unquote_to_bytes

from corpus_assets.ingest.gates.path_rules import is_allowed
from corpus_assets.ingest.gates.robots import parse_robots, rules_for

UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
RESERVED = ":/?#[]@!$&'()*+,;="


def spelled(text: bytes, special: str = "") -> str:
    """Each character bare if unreserved, reserved ones as they came, all others as %XX; encoded
    colons and slashes of a query are bare."""
    out: list[str] = []
    for escape, raw in re.findall(rb"(%[0-9A-Fa-f]{2})|(.)", text, re.DOTALL):
        if escape:
            byte = unquote_to_bytes(escape)
            char = byte.decode("latin-1")
            bare = UNRESERVED + (":/" if "?" in out else "")
            out.append(char if char in bare else f"%{byte[0]:02X}")
        else:
            char = raw.decode("latin-1")
            if char in "*$" and char not in special:
                out.append(f"%{ord(char):02X}")
            else:
                out.append(char if char in UNRESERVED + RESERVED else quote(raw))
    return "".join(out)


def groups(content: bytes) -> list[tuple[set[str], list[tuple[bool, str]]]]:
    found: list[tuple[set[str], list[tuple[bool, str]]]] = []
    naming = False
    for line in re.split(rb"\r\n|\r|\n", content.removeprefix(b"\xef\xbb\xbf")):
        match = re.match(rb"\s*([A-Za-z -]+?)\s*:(.*)", line.split(b"#")[0], re.DOTALL)
        if match is None:
            continue
        key, value = match[1].lower().decode(), match[2].strip()
        if key in ("user-agent", "useragent", "user agent"):
            if not naming:
                found.append((set(), []))
            naming = True
            found[-1][0].add(value.decode("utf-8", "replace").lower())
        elif re.fullmatch("al?low|diss?all?ow|diasllow|disallaw", key) and found:
            naming = False
            if value[:1] in (b"/", b"*"):
                found[-1][1].append((key.startswith("al"), spelled(value, "*$")))
    return found


def rules_of(content: bytes, agent: str) -> list[tuple[int, bool, re.Pattern[str]]]:
    all_groups = groups(content)
    own = [
        rules
        for names, rules in all_groups
        if any(re.match(rf"{re.escape(agent.lower())}(?![a-z0-9_-])", name) for name in names)
    ]
    if not own:
        own = [rules for names, rules in all_groups if "*" in names]
    compiled = []
    for allow, pattern in dict.fromkeys(rule for rules in own for rule in rules):
        body = pattern.removesuffix("$")
        end = r"\Z" if body != pattern else ""
        expression = ".*".join(re.escape(p.replace("$", "%24")) for p in body.split("*")) + end
        length = len(re.sub(r"\*+", "*", body).replace("$", "%24")) + bool(end)
        compiled.append((length, allow, re.compile(expression, re.DOTALL)))
    return compiled


def verdict(rules: list[tuple[int, bool, re.Pattern[str]]], path: bytes) -> bool:
    target = spelled(path)
    matching = [(length, allow) for length, allow, pattern in rules if pattern.match(target)]
    return max(matching, default=(0, True))[1]


def allowed(content: bytes, agent: str, path: bytes) -> bool:
    return verdict(rules_of(content, agent), path)


def may_fetch(content: bytes, agent: str, path: bytes) -> bool:
    """What the product's rules say of a path, as `path_of` writes it."""
    return path == b"/robots.txt" or is_allowed(path, rules_for(parse_robots(content), agent))
