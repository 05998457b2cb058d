"""Which documents of the live versions a batch of takedowns means. Sets are joined, not looped
over, so a million requests cost a few scans; all of it stays in DuckDB, which spills to disk.

1. Documents that the request names, by address, id or text. Records that gave no text (already
   suppressed ones among them) hold nothing to remove and do not count.
2. With near duplicates: the exact and near members of their clusters, over all snapshots.
3. Texts derived from any of these, and from those, to the end.
"""

# ruff: noqa: S608 - FROM parts are written by LiveLineage.scan alone; values are always bound

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from catalog.live import LiveLineage
from catalog.rows import NewTakedown
from catalog.takedown_target import Target

ROLES = ("matched", "near_duplicate", "descendant")
LISTED = 100  # documents named on a request; the counts are whole

HOST_OF_KEY = """CASE
    WHEN NOT contains(url_key, ')/') THEN NULL
    WHEN starts_with(url_key, '[') THEN split_part(url_key, ']', 1) || ']'
    ELSE array_to_string(list_reverse(string_split(
        split_part(split_part(url_key, ')/', 1), ':', 1), ',')), '.')
END"""


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document that goes, and as what: one of `ROLES`."""

    doc_id: bytes
    role: str


class Matcher:
    """Matches batches of targets; `gone` is the DuckDB table of all documents found so far."""

    def __init__(self, live: LiveLineage) -> None:
        self.live = live
        live.execute("CREATE OR REPLACE TEMP TABLE gone (doc_id BLOB PRIMARY KEY)")
        live.execute(
            "CREATE OR REPLACE TEMP TABLE derived AS SELECT DISTINCT doc_id, url_key AS own_key, "
            f"unnest(derived_from) AS url_key FROM {live.scan('texts')} "
            "WHERE len(derived_from) > 0"
        )
        live.execute(
            "CREATE OR REPLACE TEMP TABLE asked (kind VARCHAR, value VARCHAR, near BOOLEAN)"
        )
        self._any_derived = bool(live.query("SELECT 1 FROM derived LIMIT 1"))

    def match(self, targets: Sequence[tuple[Target, bool]]) -> None:
        """Find the documents of targets (with near duplicates or without), by their place."""
        live = self.live
        ids = [
            [bytes.fromhex(value) for _, value in target.orders]
            if target.kind in ("doc_id", "text_id")
            else []
            for target, _ in targets
        ]
        live.connection.register(
            "targets",
            pa.table(
                {
                    "n": pa.array(range(len(targets)), pa.int64()),
                    "kind": pa.array([target.kind for target, _ in targets], pa.string()),
                    "value": pa.array([target.value for target, _ in targets], pa.string()),
                    "ids": pa.array(ids, pa.list_(pa.binary())),
                    "near": pa.array([near for _, near in targets], pa.bool_()),
                }
            ),
        )
        live.execute(
            "CREATE OR REPLACE TEMP TABLE going (n BIGINT, doc_id BLOB, url_key VARCHAR, "
            "role UTINYINT, PRIMARY KEY (n, doc_id))"
        )
        live.execute("CREATE OR REPLACE TEMP TABLE text_hits (n BIGINT, text_id BLOB)")
        kinds = {target.kind for target, _ in targets}
        documents = f"(SELECT * FROM {live.scan('documents')} WHERE reason IS NULL)"
        self._by_address(kinds, targets, f"(SELECT doc_id, url_key, host FROM {documents})", 0)
        if "doc_id" in kinds:
            self._add(
                f"SELECT t.n, d.doc_id, d.url_key, 0 FROM {documents} AS d JOIN "
                "(SELECT n, unnest(ids) AS id FROM targets WHERE kind = 'doc_id') AS t "
                "ON d.doc_id = t.id"
            )
        self._by_text(kinds)
        if any(near for _, near in targets):
            self._near_duplicates(documents)
        if self._any_derived:
            parents = f"(SELECT *, {HOST_OF_KEY} AS host FROM derived)"
            self._by_address(kinds, targets, parents, 2, "own_key")
            while self._add(
                "SELECT g.n, d.doc_id, d.own_key, 2 FROM derived AS d "
                "JOIN going AS g ON d.url_key = g.url_key "
                "ANTI JOIN going AS known ON known.n = g.n AND known.doc_id = d.doc_id"
            ):
                pass
        live.execute("INSERT INTO gone SELECT DISTINCT doc_id FROM going ON CONFLICT DO NOTHING")

    def requests(self, requests: Sequence[tuple[Target, NewTakedown]]) -> list[NewTakedown]:
        """The batch's requests with what they found and the suppressions they bring."""
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
        for row in self.live.query("SELECT DISTINCT n, text_id FROM text_hits ORDER BY ALL"):
            orders.setdefault(row["n"], []).append(("text_id", row["text_id"].hex()))
        for row in self.live.query(
            "SELECT n, doc_id FROM going WHERE role > 0 ORDER BY n, role, doc_id"
        ):
            orders.setdefault(row["n"], []).append(("doc_id", row["doc_id"].hex()))
        answer = []
        for n, (target, request) in enumerate(requests):
            found: dict[str, Any] = {role: counts.get(n, {}).get(role, 0) for role in ROLES}
            total = sum(found.values())
            found |= {"listed": listed.get(n, []), "truncated": total > LISTED}
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

    def documents(self) -> dict[int, list[FoundDocument]]:
        """All documents of the last batch, by the target's place."""
        found: dict[int, list[FoundDocument]] = {}
        for row in self.live.query("SELECT n, doc_id, role FROM going ORDER BY n, role, doc_id"):
            document = FoundDocument(bytes(row["doc_id"]), ROLES[row["role"]])
            found.setdefault(row["n"], []).append(document)
        return found

    def first_asked(self) -> set[int]:
        """Places in the last batch of targets that no earlier batch and no earlier place had.

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
        """Add rows (n, doc_id, url_key, role); who is there keeps the role it has."""
        return self.live.execute(
            "INSERT INTO going SELECT n, doc_id, any_value(url_key), min(role) "
            f"FROM ({select}) AS found (n, doc_id, url_key, role) GROUP BY n, doc_id "
            "ON CONFLICT DO NOTHING",
            parameters,
        )

    def _by_address(
        self,
        kinds: set[str],
        targets: Sequence[tuple[Target, bool]],
        pages: str,
        role: int,
        own_key: str = "url_key",
    ) -> None:
        """Pages (doc_id, url_key, host) that a URL, prefix or domain covers, as ingest has it."""
        if "url" in kinds:
            self._add(
                f"SELECT t.n, p.doc_id, p.{own_key}, {role} FROM {pages} AS p "
                "JOIN targets AS t ON p.url_key = t.value WHERE t.kind = 'url'"
            )
        # One scan for each length of prefix: a hash join each, where a range join would sort.
        for length in sorted({len(t.value) for t, _ in targets if t.kind == "url_prefix"}):
            self._add(
                f"SELECT t.n, p.doc_id, p.{own_key}, {role} FROM {pages} AS p "
                f"JOIN targets AS t ON left(p.url_key, {length}) = t.value "
                "WHERE t.kind = 'url_prefix'"
            )
        if "domain" in kinds:
            self._add(
                "WITH hosts AS (SELECT DISTINCT host, string_split(host, '.') AS labels "
                f"FROM {pages} WHERE host IS NOT NULL), "
                "covers AS (SELECT host, array_to_string(labels[place:], '.') AS value "
                "FROM (SELECT host, labels, unnest(range(1, len(labels) + 1)) AS place FROM hosts))"
                f" SELECT t.n, p.doc_id, p.{own_key}, {role} FROM {pages} AS p "
                "JOIN covers USING (host) JOIN targets AS t USING (value) WHERE t.kind = 'domain'"
            )

    def _by_text(self, kinds: set[str]) -> None:
        texts = self.live.scan("texts")
        if "text_sha256" in kinds:  # reads every text; the others read one 16-byte column
            self.live.execute(
                f"INSERT INTO text_hits SELECT DISTINCT t.n, x.text_id FROM {texts} AS x "
                "JOIN targets AS t ON sha256(x.text) = t.value WHERE t.kind = 'text_sha256'"
            )
        if kinds & {"text_id", "text_sha256"}:
            self._add(
                f"SELECT t.n, x.doc_id, x.url_key, 0 FROM {texts} AS x JOIN ("
                "SELECT n, unnest(ids) AS id FROM targets WHERE kind = 'text_id' "
                "UNION SELECT n, text_id FROM text_hits) AS t ON x.text_id = t.id"
            )

    def _near_duplicates(self, documents: str) -> None:
        """Follow clusters over all snapshots until nobody new comes in.

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
