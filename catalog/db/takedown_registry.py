"""The registry's methods for takedowns; each is one transaction."""

from collections.abc import Iterable, Sequence

from catalog.db import suppressions, takedown_claims, takedown_records
from catalog.db.database import Database, timestamp
from catalog.db.rows import (
    ActionRow,
    CertificateRow,
    NewTakedown,
    SuppressionRow,
    TakedownRow,
)
from catalog.db.takedown_records import Key


class TakedownRegistry:
    """What `Registry` knows of takedowns."""

    database: Database

    # Standing orders

    def add_suppressions(self, rows: Iterable[SuppressionRow]) -> int:
        """Add standing orders; gives how many were new."""
        with self.database.write() as connection:
            return suppressions.add(connection, rows, timestamp())

    def suppressions(self, kind: str | None = None) -> list[SuppressionRow]:
        """Standing orders in the order they were added."""
        with self.database.read() as connection:
            return suppressions.listed(connection, kind)

    def orders(self) -> tuple[str, list[SuppressionRow]]:
        """The standing orders and the state they are in, which changes whenever they do."""
        with self.database.read() as connection:
            return suppressions.state(connection), suppressions.listed(connection, None)

    def expect_orders(self, state: str) -> None:
        """`OrdersChanged` unless the standing orders are still in that state."""
        with self.database.read() as connection:
            suppressions.expect(connection, state)

    def orders_state(self) -> str:
        """The state of the standing orders, without them."""
        with self.database.read() as connection:
            return suppressions.state(connection)

    def takedown_suppressions(self, request_id: int) -> list[SuppressionRow]:
        """The standing orders that a request holds, shared ones included."""
        with self.database.read() as connection:
            takedown_records.one(connection, request_id)
            return suppressions.held_by(connection, request_id)

    # Requests

    def file_takedowns(self, requests: Sequence[NewTakedown]) -> list[tuple[TakedownRow, str]]:
        """File requests with their suppressions; each row and `filed`, `already_there` or
        `reopened`, in the order given."""
        with self.database.write() as connection:
            return takedown_records.file(connection, requests, timestamp())

    def refresh_takedowns(self, found: Iterable[tuple[int, NewTakedown]]) -> list[TakedownRow]:
        """Bring up to date what requests find in the live versions, and the orders they hold."""
        with self.database.write() as connection:
            return takedown_records.refresh(connection, found, timestamp())

    def find_takedowns(self, keys: Sequence[Key]) -> dict[Key, TakedownRow]:
        """The requests that are there among (kind, value, near_duplicates)."""
        with self.database.read() as connection:
            return takedown_records.find(connection, keys)

    def takedown(self, request_id: int) -> TakedownRow:
        """The request of that number."""
        with self.database.read() as connection:
            return takedown_records.one(connection, request_id)

    def takedowns_of(self, request_ids: Sequence[int]) -> list[TakedownRow]:
        """Requests by number; a number that is not there is refused."""
        with self.database.read() as connection:
            return takedown_records.by_ids(connection, request_ids)

    def takedowns(self, status: str | None = None, limit: int | None = None) -> list[TakedownRow]:
        """Requests in the order they were filed; `failed` are the pending ones with an error."""
        with self.database.read() as connection:
            return takedown_records.listed(connection, status, limit)

    def pending_takedowns(self, limit: int | None = None) -> list[TakedownRow]:
        """Requests that nobody works on, in the order they were filed."""
        return self.takedowns("pending", limit)

    def withdraw_takedown(self, request_id: int) -> tuple[TakedownRow, int]:
        """Take a pending request back; gives it and how many suppressions went with it."""
        with self.database.write() as connection:
            return takedown_records.withdraw(connection, request_id, timestamp())

    def free_takedowns(self, limit: int | None = None) -> list[TakedownRow]:
        """Requests that wait for a run: pending ones, and those whose run died and whose claim
        has run out, in the order they were filed."""
        with self.database.read() as connection:
            return takedown_claims.free(connection, limit)

    # Working on them

    def claim_takedowns(self, ids: Sequence[int], owner: str, ttl_s: float) -> list[TakedownRow]:
        """Take what is free among `ids` for `ttl_s` seconds; another's claim is passed over.

        Our own claims are extended, and one that ran out is taken from whoever had it.
        """
        with self.database.write() as connection:
            return takedown_claims.claim(connection, ids, owner, ttl_s, timestamp())

    def finish_takedowns(
        self, ids: Sequence[int], owner: str, actions: Sequence[ActionRow] = ()
    ) -> None:
        """Mark our requests done; `LeaseLost`, and nothing changed, when one is not ours."""
        with self.database.write() as connection:
            takedown_claims.finish(connection, ids, owner, actions, timestamp())

    def fail_takedowns(self, ids: Sequence[int], owner: str, error: str) -> None:
        """Give our requests back, pending, with the error on them."""
        with self.database.write() as connection:
            takedown_claims.fail(connection, ids, owner, error, timestamp())

    def takedown_actions(self, request_id: int) -> list[ActionRow]:
        """What runs did for a request, in order."""
        with self.database.read() as connection:
            return takedown_claims.actions(connection, request_id)

    def takedown_history(self, request_id: int) -> list[ActionRow]:
        """The same with what people did: `withdrawn` and `reopened`."""
        with self.database.read() as connection:
            return takedown_claims.history(connection, request_id)

    def requests_behind(self, version: str) -> list[int]:
        """Numbers of the requests that a version was replaced for."""
        with self.database.read() as connection:
            return takedown_claims.behind(connection, version)

    def put_certificate(
        self, request_id: int, path: str, sha256: str, previous_sha256: str | None
    ) -> bool:
        """Append a certificate to the chain; False when that very one is in it already.

        `CatalogConflict` when `previous_sha256` is not the chain's last (None for the first).
        """
        certificate = CertificateRow(request_id, path, sha256, previous_sha256)
        with self.database.write() as connection:
            return takedown_claims.put_certificate(connection, certificate, timestamp())

    def certificates(self, request_id: int | None = None) -> list[CertificateRow]:
        """Certificates in the order of the chain, of one request or of all."""
        with self.database.read() as connection:
            return takedown_claims.certificates(connection, request_id)
