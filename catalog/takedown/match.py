"""Which documents of the live versions a batch of takedowns means. Sets are joined, not looped
over, so a million requests cost a few scans; all of it stays in DuckDB, which spills to disk.
For a few requests key files tell which few files there are to read (`focus_on_*`): all others are
left unread, and the joins answer as they would over everything.

1. Documents that the request names, by address, id or text. Records that gave no text (already
   suppressed ones among them) hold nothing to remove and do not count. A text differs by extractor
   and recipe, so a request by text names its documents by id too: they go from every version,
   whatever their text is there.
2. With near duplicates: texts that a sketch of theirs covers, and the exact and near members
   of their clusters, over all snapshots.
3. Texts derived from any of these, and from those, to the end.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from catalog.db import LineageRow, NewTakedown
from catalog.formats.key_files import (
    CLUSTER_IDS,
    DOCUMENT_IDS,
    SPAN_IDS,
    TEXT_IDS,
    URL_KEYS,
    id_key,
    url_hash,
)
from catalog.formats.sketches import NEAR_TEXT, near_text_order
from catalog.formats.urls import (
    BARE_IN_NAME,
    BARE_IN_PATH,
    BARE_IN_VALUE,
    host_key,
    one_spelling,
    spellings,
)
from catalog.lineage import Found, Keys, LiveLineage, Rows, domain_ranges, prefix_ranges
from catalog.takedown.near_copies import find_near_copies
from catalog.takedown.target import ADDRESS_ORDERS, Target, is_shared_suffix

ADDRESS_KINDS = ("url", "url_prefix", "domain")
TEXT_KINDS = ("text_id", "text_sha256")
ID_ORDERS = ("doc_id", "text_id")
ROLES = ("matched", "near_duplicate", "descendant")
LISTED = 100  # documents named on a request; the counts are whole
WIDE_DOCUMENTS = 10_000
WIDE_SHARE, FEW_DOCUMENTS = 0.1, 100

HOST_OF_KEY = """CASE
    WHEN NOT contains(url_key, ')/') THEN NULL
    WHEN starts_with(url_key, '[') THEN split_part(url_key, ']', 1) || ']'
    ELSE array_to_string(list_reverse(string_split(
        split_part(split_part(url_key, ')/', 1), ':', 1), ',')), '.')
END"""


def _bare(text: str, chars: str, space: str = "%20") -> str:
    """Return SQL that writes some escaped characters of a text bare."""
    for char in chars:
        escaped = "''" if char == "'" else char
        text = f"replace({text}, '%{ord(char):02X}', '{escaped}')"
    return f"replace({text}, '%20', '{space}')" if space != "%20" else text


_NAME, _VALUE = (
    _bare(text, chars, "+")
    for text, chars in (
        ("split_part(item, '=', 1)", BARE_IN_NAME),
        ("substr(item, strpos(item, '=') + 1)", BARE_IN_VALUE),
    )
)
ONE_SPELLING = f"""CREATE OR REPLACE TEMP MACRO one_spelling(key) AS CASE
    WHEN NOT contains(key, '%') OR NOT contains(key, ')/') THEN key
    ELSE substr(key, 1, strpos(key, ')/') + 1)
        || {_bare("split_part(substr(key, strpos(key, ')/') + 2), '?', 1)", BARE_IN_PATH)}
        || CASE WHEN contains(key, '?') THEN '?' || array_to_string(list_sort(list_transform(
            string_split(substr(key, strpos(key, '?') + 1), '&'),
            lambda item: CASE WHEN contains(item, '=') THEN {_NAME} || '=' || {_VALUE}
                ELSE {_NAME} END)), '&')
        ELSE '' END
    END"""
"""`catalog.formats.urls.one_spelling` in SQL; a test holds the two against each other."""


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document that goes, and as what: one of `ROLES`."""

    doc_id: bytes
    role: str


class Matcher:
    """Matches batches of targets; `gone` is the DuckDB table of all documents found so far."""

    def __init__(self, live: LiveLineage) -> None:
        self.live = live
        self._batch = 0
        live.execute(ONE_SPELLING)
        live.execute("CREATE OR REPLACE TEMP TABLE gone (doc_id BLOB PRIMARY KEY, batch BIGINT)")
        focus_on_derived(live)
        live.execute(
            "CREATE OR REPLACE TEMP TABLE derived AS SELECT DISTINCT doc_id, own_key, "
            "one_spelling(parent) AS url_key FROM (SELECT doc_id, url_key AS own_key, "
            f"unnest(derived_from) AS parent FROM {live.scan('documents')} WHERE len(derived_from) > 0)"
        )
        live.execute(
            "CREATE OR REPLACE TEMP TABLE asked (kind VARCHAR, value VARCHAR, near BOOLEAN)"
        )
        self._texts = max(
            (sum(row.rows for row in files["documents"]) for files in live.files.values()),
            default=0,
        )
        self._any_derived = bool(live.query("SELECT 1 FROM derived LIMIT 1"))
        live.focus({})

    def match(self, targets: Sequence[tuple[Target, bool]]) -> None:
        """Find the documents of targets (with near duplicates or without), by their place.

        Afterwards the live lineage reads no more than what concerns the documents found.
        """
        live = self.live
        focus_on_targets(live, targets)
        doc_ids, text_ids = ([_ids(target, kind) for target, _ in targets] for kind in ID_ORDERS)
        live.connection.register(
            "targets",
            pa.table(
                {
                    "n": pa.array(range(len(targets)), pa.int64()),
                    "kind": pa.array([target.kind for target, _ in targets], pa.string()),
                    "value": pa.array([target.value for target, _ in targets], pa.string()),
                    "doc_ids": pa.array(doc_ids, pa.list_(pa.binary())),
                    "text_ids": pa.array(text_ids, pa.list_(pa.binary())),
                    "near": pa.array([near for _, near in targets], pa.bool_()),
                }
            ),
        )
        live.execute(
            "CREATE OR REPLACE TEMP TABLE going (n BIGINT, doc_id BLOB, url_key VARCHAR, "
            "role UTINYINT, PRIMARY KEY (n, doc_id))"
        )
        addresses = [
            (n, kind, value if kind == "host" else one_spelling(value))
            for n, (target, _) in enumerate(targets)
            for kind, value in target.orders
            if kind in ADDRESS_ORDERS
        ]
        columns = zip(*addresses, strict=True) if addresses else ((), (), ())
        types = (pa.int64(), pa.string(), pa.string())
        arrays = [pa.array(list(c), t) for c, t in zip(columns, types, strict=True)]
        live.connection.register("addresses", pa.table(arrays, names=["n", "kind", "value"]))
        documents = f"(SELECT * FROM {live.scan('records')} WHERE reason IS NULL)"
        pages = f"(SELECT doc_id, one_spelling(url_key) AS url_key, host FROM {documents})"
        self._by_address(addresses, pages, 0)
        if any(target.kind == "doc_id" for target, _ in targets):
            self._by_id(documents, "kind = 'doc_id'")
        if any(text_ids):
            self._by_text()
        live.execute("CREATE OR REPLACE TEMP TABLE near_of (n BIGINT, text_id BLOB, sketch BLOB)")
        if any(near for _, near in targets):
            self._near_copies(targets)
            self._near_duplicates(documents)
        self._descendants(addresses)
        # Documents of a text that was in a version which is no longer live: after all others, so
        # that who is found again keeps its role.
        if any(i for i, (t, _) in zip(doc_ids, targets, strict=True) if t.kind in TEXT_KINDS):
            self._by_id(documents, "kind <> 'doc_id'")
            self._descendants([])
        self._batch += 1
        live.execute(
            "INSERT INTO gone SELECT DISTINCT doc_id, ? FROM going ON CONFLICT DO NOTHING",
            [self._batch],
        )
        gone = live.query("SELECT doc_id FROM gone LIMIT ?", [FEW + 1])
        focus_on_documents(live, [bytes(row["doc_id"]) for row in gone])

    def requests(self, requests: Sequence[tuple[Target, NewTakedown]]) -> list[NewTakedown]:
        """Return the batch's requests with what they found and the suppressions they bring."""
        counts: dict[int, dict[str, int]] = {}
        for row in self.live.query("SELECT n, role, count(*) AS documents FROM going GROUP BY ALL"):
            counts.setdefault(row["n"], {})[ROLES[row["role"]]] = row["documents"]
        listed: dict[int, list[dict[str, str]]] = {}
        for row in self.live.query(
            "SELECT n, doc_id, role FROM going QUALIFY "
            "row_number() OVER (PARTITION BY n ORDER BY role, doc_id) <= ? ORDER BY n, role, doc_id",
            [LISTED],
        ):
            entry = {"doc_id": row["doc_id"].hex(), "role": ROLES[row["role"]]}
            listed.setdefault(row["n"], []).append(entry)
        orders: dict[int, list[tuple[str, str]]] = {}
        short: dict[int, int] = {}
        for row in self.live.query("SELECT n, text_id, sketch FROM near_of ORDER BY ALL"):
            if row["sketch"] is None:  # too short: only exact copies can be found
                short[row["n"]] = short.get(row["n"], 0) + 1
                orders.setdefault(row["n"], []).append(("text_id", row["text_id"].hex()))
            else:
                order = near_text_order(row["sketch"])
                orders.setdefault(row["n"], []).append(order)
        for row in self.live.query(
            "SELECT g.n, g.doc_id FROM going AS g JOIN targets AS t ON t.n = g.n "
            "WHERE g.role > 0 OR len(t.text_ids) > 0 ORDER BY g.n, g.role, g.doc_id"
        ):
            orders.setdefault(row["n"], []).append(("doc_id", row["doc_id"].hex()))
        answer = []
        for n, (target, request) in enumerate(requests):
            found: dict[str, Any] = {role: counts.get(n, {}).get(role, 0) for role in ROLES}
            total = sum(found.values())
            found |= {"listed": listed.get(n, []), "truncated": total > LISTED}
            if request.near_duplicates:
                found["texts_too_short"] = short.get(n, 0)
            answer.append(
                NewTakedown(
                    target.kind,
                    target.value,
                    request.near_duplicates,
                    request.reason,
                    request.requester,
                    request.reference,
                    target.given,
                    target.text_sha256,
                    total,
                    found,
                    tuple(dict.fromkeys([*target.orders, *orders.get(n, [])])),
                )
            )
        return answer

    def hosts(self, n: int) -> list[tuple[str, int]]:
        """Return the hosts of the documents that a target of the last batch names, most documents
        first."""
        found = self.live.query(
            f"SELECT {HOST_OF_KEY} AS host, count(*) AS documents FROM going "
            "WHERE n = ? AND role = 0 GROUP BY 1 HAVING host IS NOT NULL "
            "ORDER BY documents DESC, host",
            [n],
        )
        return [(row["host"], row["documents"]) for row in found]

    def width(self, n: int, target: Target, documents: int) -> str | None:
        """Return why a target of the last batch asks for so much that somebody should say yes to
        it."""
        share = documents / max(documents, self._texts, 1)
        if target.kind == "domain" and is_shared_suffix(target.value):
            why = "it has sites of many owners below it"
        elif documents > WIDE_DOCUMENTS or (documents > FEW_DOCUMENTS and share > WIDE_SHARE):
            why = f"that is {share:.0%} of what live versions hold"
        else:
            return None
        hosts = self.hosts(n)
        named = ", ".join(f"{host} {count}" for host, count in hosts[:5])
        more = f" and {len(hosts) - 5} more" if len(hosts) > 5 else ""
        where = f" on {len(hosts)} hosts ({named}{more})" if hosts else ""
        return f"{target.kind} {target.value} covers {documents} documents{where}: {why}"

    def drop(self, places: Sequence[int]) -> None:
        """Count what some targets of the last batch found, and no other did, no more."""
        self.live.execute(
            "DELETE FROM gone WHERE batch = ? AND doc_id NOT IN "
            "(SELECT doc_id FROM going WHERE n NOT IN (SELECT unnest(?)))",
            [self._batch, list(places)],
        )

    def documents(self) -> dict[int, list[FoundDocument]]:
        """Return all documents of the last batch, by the target's place."""
        found: dict[int, list[FoundDocument]] = {}
        for row in self.live.query("SELECT n, doc_id, role FROM going ORDER BY n, role, doc_id"):
            document = FoundDocument(bytes(row["doc_id"]), ROLES[row["role"]])
            found.setdefault(row["n"], []).append(document)
        return found

    def first_asked(self) -> set[int]:
        """Return places in the last batch of targets that no earlier batch and no earlier place
        had.

        For runs that write nothing: else the registry knows what was asked before.
        """
        fresh = self.live.query(
            "SELECT min(n) AS n FROM targets AS t ANTI JOIN asked AS a "
            "ON a.kind = t.kind AND a.value = t.value AND a.near = t.near "
            "GROUP BY t.kind, t.value, t.near"
        )
        self.live.execute("INSERT INTO asked SELECT DISTINCT kind, value, near FROM targets")
        return {row["n"] for row in fresh}

    def _add(self, select: str, parameters: Sequence[Any] = ()) -> int:
        """Add rows (n, doc_id, url_key, role); who is there keeps the role it has. Keys are in one
        spelling."""
        return self.live.execute(
            "INSERT INTO going SELECT n, doc_id, one_spelling(any_value(url_key)), min(role) "
            f"FROM ({select}) AS found (n, doc_id, url_key, role) GROUP BY n, doc_id "
            "ON CONFLICT DO NOTHING",
            parameters,
        )

    def _by_address(
        self,
        addresses: Sequence[tuple[int, str, str]],
        pages: str,
        role: int,
        own_key: str = "url_key",
    ) -> None:
        """Pages (doc_id, url_key, host) that a URL, prefix or domain covers, as ingest has it."""
        kinds = {kind for _, kind, _ in addresses}
        if "url_key" in kinds:
            self._add(
                f"SELECT t.n, p.doc_id, p.{own_key}, {role} FROM {pages} AS p "
                "JOIN addresses AS t ON p.url_key = t.value WHERE t.kind = 'url_key'"
            )
        # One scan for each length of prefix: a hash join each, where a range join would sort.
        for length in sorted({len(value) for _, kind, value in addresses if kind == "url_prefix"}):
            self._add(
                f"SELECT t.n, p.doc_id, p.{own_key}, {role} FROM {pages} AS p "
                f"JOIN addresses AS t ON left(p.url_key, {length}) = t.value "
                "WHERE t.kind = 'url_prefix'"
            )
        if "host" in kinds:
            self._add(
                "WITH hosts AS (SELECT DISTINCT host, string_split(host, '.') AS labels "
                f"FROM {pages} WHERE host IS NOT NULL), "
                "covers AS (SELECT host, array_to_string(labels[place:], '.') AS value "
                "FROM (SELECT host, labels, unnest(range(1, len(labels) + 1)) AS place FROM hosts))"
                f" SELECT t.n, p.doc_id, p.{own_key}, {role} FROM {pages} AS p "
                "JOIN covers USING (host) JOIN addresses AS t USING (value) WHERE t.kind = 'host'"
            )

    def _by_id(self, documents: str, which: str) -> None:
        self._add(
            f"SELECT t.n, d.doc_id, d.url_key, 0 FROM {documents} AS d JOIN "
            f"(SELECT n, unnest(doc_ids) AS id FROM targets WHERE {which}) AS t ON d.doc_id = t.id"
        )

    def _by_text(self) -> None:
        """Reads one column of 16 bytes, never a text."""
        self._add(
            f"SELECT t.n, x.doc_id, x.url_key, 0 FROM {self.live.scan('documents')} AS x "
            "JOIN (SELECT n, unnest(text_ids) AS id FROM targets) AS t ON x.text_id = t.id"
        )

    def _descendants(self, addresses: Sequence[tuple[int, str, str]]) -> None:
        """Texts derived from pages of these addresses, from documents that go, and from those."""
        if not self._any_derived:
            return
        parents = f"(SELECT *, {HOST_OF_KEY} AS host FROM derived)"
        self._by_address(addresses, parents, 2, "own_key")
        while self._add(
            "SELECT g.n, d.doc_id, d.own_key, 2 FROM derived AS d "
            "JOIN going AS g ON d.url_key = g.url_key "
            "ANTI JOIN going AS known ON known.n = g.n AND known.doc_id = d.doc_id"
        ):
            pass

    def _near_copies(self, targets: Sequence[tuple[Target, bool]]) -> None:
        """Texts that a sketch covers: of a document the request names, or one it holds already."""
        self.live.execute(
            "INSERT INTO near_of SELECT DISTINCT g.n, x.text_id, x.sketch "
            f"FROM {self.live.scan('documents')} AS x JOIN going AS g ON g.doc_id = x.doc_id "
            "JOIN targets AS t ON t.n = g.n WHERE t.near AND g.role = 0"
        )
        self._add(  # exact copies of texts without a sketch
            f"SELECT o.n, x.doc_id, x.url_key, 1 FROM {self.live.scan('documents')} AS x "
            "JOIN near_of AS o ON o.text_id = x.text_id WHERE o.sketch IS NULL"
        )
        orders = [
            (n, value)
            for n, (target, near) in enumerate(targets)
            for kind, value in target.orders
            if near and kind == NEAR_TEXT
        ]
        for row in self.live.query("SELECT n, sketch FROM near_of WHERE sketch IS NOT NULL"):
            orders.append((row["n"], near_text_order(row["sketch"])[1]))
        if orders:
            found = find_near_copies(self.live, orders)
            self._add(f"SELECT n, doc_id, url_key, 1 FROM ({found}) AS near_ones")

    def _near_duplicates(self, documents: str) -> None:
        """Follow clusters over all snapshots until no new member comes in.

        A cluster is known by who it keeps and by its first member, in the files of different
        snapshots by either. The kept document belongs to it wherever a near or exact copy does,
        whatever its own closest tie is.
        """
        self.live.execute(
            "CREATE OR REPLACE TEMP TABLE members AS SELECT DISTINCT doc_id, cluster_id, "
            f"kept_doc_id, kind IN ('exact', 'near') AS copied FROM {self.live.scan('cluster_members')}"
        )
        while self._add(
            "WITH seeds AS (SELECT g.n, g.doc_id FROM going AS g "
            "JOIN targets AS t ON t.n = g.n WHERE t.near), "
            "keys AS (SELECT n, doc_id AS key FROM seeds "
            "UNION SELECT n, kept_doc_id FROM seeds JOIN members USING (doc_id) "
            "UNION SELECT n, cluster_id FROM seeds JOIN members USING (doc_id)), "
            "near AS (SELECT k.n, m.doc_id, m.kept_doc_id FROM members AS m "
            "JOIN keys AS k ON m.kept_doc_id = k.key WHERE m.copied "
            "UNION SELECT k.n, m.doc_id, m.kept_doc_id FROM members AS m "
            "JOIN keys AS k ON m.cluster_id = k.key WHERE m.copied), "
            "new AS (SELECT n, doc_id FROM near UNION SELECT n, kept_doc_id FROM near) "
            f"SELECT new.n, new.doc_id, d.url_key, 1 FROM new JOIN {documents} AS d "
            "ON d.doc_id = new.doc_id "
            "ANTI JOIN going AS known ON known.n = new.n AND known.doc_id = new.doc_id"
        ):
            pass


def _ids(target: Target, kind: str) -> list[bytes]:
    """Return the ids of a kind that a request by id or text names; an address names none."""
    if target.kind in ADDRESS_KINDS:
        return []
    return [bytes.fromhex(value) for name, value in target.orders if name == kind]


# Which files a few takedowns can concern.


FEW = 1_000  # targets or documents
MANY_ROWS = 20_000

SURT_HOST = re.compile(r"(?:\[[0-9a-f:.]+\]|[a-z0-9_,.\-]+)(?::\d+)?")

Paths = dict[str, set[str]]


def focus_on_derived(live: LiveLineage) -> None:
    """Read only texts among which some were made from others."""
    files = [file for keys in live.keys.values() for file in keys.files_with_derived(TEXT_IDS)]
    live.focus({"documents": {file.path for file in files}})


def focus_on_targets(live: LiveLineage, targets: Sequence[tuple[Target, bool]]) -> None:
    """Read only records and texts that can be what the targets name.

    Near copies are searched among all texts, so their requests are not narrowed.
    """
    live.focus({})
    if len(targets) > FEW or any(near for _, near in targets):
        return
    sources = [source.name for source in live.registry.sources()]
    if not all(_has_keys(target, sources) for target, _ in targets):
        return
    paths: Paths = {"records": set(), "documents": set()}
    rows = 0
    for keys in live.keys.values():
        for target, _ in targets:
            for file, numbers in _of_target(keys, target):
                paths[file.table_name].add(file.path)
                rows += len(numbers)
                if rows > MANY_ROWS:
                    return
    live.focus(paths)


def focus_on_documents(live: LiveLineage, doc_ids: Collection[bytes]) -> None:
    """Read only what holds these documents, their clusters, and the members of those."""
    live.focus({})
    if len(doc_ids) > FEW:
        return
    paths: Paths = {name: set() for name in ("records", "spans", "cluster_members")}
    concerned = set(doc_ids)
    for keys in live.keys.values():
        members = _clusters(live, keys, doc_ids)
        if members is None:
            return
        ids, files = members
        concerned |= ids
        paths["cluster_members"] |= files
        for doc_id in doc_ids:
            for table, kind in (("records", DOCUMENT_IDS), ("spans", SPAN_IDS)):
                paths[table] |= {file.path for file, _ in keys.find(kind, id_key(doc_id))}
    for version, keys in live.keys.items():
        parts = {
            (file.snapshot, file.part)
            for doc_id in concerned
            for file, _ in keys.find(DOCUMENT_IDS, id_key(doc_id))
        }
        for table in ("signals", "documents"):
            files_of = live.files[version][table]
            near = {row.path for row in files_of if (row.snapshot, row.part) in parts}
            paths[table] = paths.get(table, set()) | near
    live.focus(paths)


def _has_keys(target: Target, sources: Iterable[str]) -> bool:
    """Whether key files know all that a target can mean.

    Hosts are kept for pages: a prefix of record keys has none, and a domain of numbers alone
    could be the end of an address made of numbers.
    """
    if target.kind == "url_prefix" or (target.kind == "url" and spellings(target.value) is None):
        host, end, _ = target.value.partition(")")
        of_source = any(target.value.startswith(f"{name}:") for name in sources)
        return bool(end) and not of_source and SURT_HOST.fullmatch(host) is not None
    if target.kind == "domain":
        return not target.value.removeprefix("www.").replace(".", "").isdigit()
    return True


def _of_target(keys: Keys, target: Target) -> Found:
    if target.kind == "url":
        found: list[tuple[LineageRow, Rows]] = []
        for kind, value in target.orders:
            names = spellings(value) if kind == "url_key" else []
            if names is None:
                found += keys.hosts(prefix_ranges(value))
            for name in names or ():
                found += keys.find(URL_KEYS, url_hash(name))
        return found
    if target.kind == "url_prefix":
        return keys.hosts(prefix_ranges(target.value))
    if target.kind == "domain":
        ranges = [
            place
            for kind, value in target.orders
            for place in (
                domain_ranges(host_key(value)) if kind == "host" else prefix_ranges(value)
            )
        ]
        return keys.hosts(ranges)
    return [
        pair
        for name, kind in zip(ID_ORDERS, (DOCUMENT_IDS, TEXT_IDS), strict=True)
        for one in _ids(target, name)
        for pair in keys.find(kind, id_key(one))
    ]


def _clusters(
    live: LiveLineage, keys: Keys, doc_ids: Collection[bytes]
) -> tuple[set[bytes], set[str]] | None:
    """Return members of the clusters that documents are in or stand for, and the files that list
    them; None where they are very many."""
    kept = set(doc_ids)
    for doc_id in doc_ids:
        for file, numbers in keys.find(CLUSTER_IDS, id_key(doc_id)):
            if len(numbers) > MANY_ROWS:
                return None
            columns = ("doc_id", "kept_doc_id")
            for row in live.rows.take(file.path, numbers, columns).to_pylist():
                if row["doc_id"] == doc_id:
                    kept.add(row["kept_doc_id"])
    members: set[bytes] = set(kept)
    files: set[str] = set()
    for kept_doc_id in kept:
        for file, numbers in keys.find(CLUSTER_IDS, id_key(kept_doc_id)):
            files.add(file.path)
            if len(members) + len(numbers) > MANY_ROWS:
                return None
            table = live.rows.take(file.path, numbers, ("doc_id",))
            members.update(table["doc_id"].to_pylist())
    return members, files
