"""Certificates of takedowns: signed with Ed25519, chained, and looked at again.

A certificate is one JSON object. Its field `signature` covers all others: the bytes that are
signed are the object without that field, as JSON with sorted keys, no spaces and non-ASCII
characters escaped. One file and the public key are enough to check it (`verify_copy`). The key
lies outside the catalog and the store.

Each certificate signs its number in the chain and the digest of the one before it, so none can be
altered or left out between two others. The end of the chain is known from the head record, a file
beside the key that holds the number and digest of the last certificate of each store: a chain
that was cut short, or written anew, does not reach it.

`verify_takedown` checks that
1. every certificate still has the digest the registry recorded, names the one before it, and has
   its page beside it; with a public key: each is signed, or stands before one that is, and the
   chain reaches the head record beside the signing key, where that is at hand;
2. no document that the certificate lists is in a live version, as text or in a shard;
3. no live text has the id of a removed text, but for copies under other addresses, which the
   request did not cover: those are counted;
4. no file that the certificate calls deleted is in the store, and it names none that was left;
5. all live texts, the tokens of all live versions, and every other file of the home, decoded,
   temporary and foreign ones included, do not hold the removed texts: whole, or by the one-way
   digests of their 13-grams that the certificate keeps. This takes a package that can read shards
   (an entry point of the group `catalog.takedown_search`); without one the answer says what was
   not done.

A certificate that lists no document proves no removal, and does not hold as a proof of one.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from catalog.db.registry import Registry
from catalog.db.rows import CertificateRow
from catalog.errors import CatalogError, StoreFileError, UnknownName
from catalog.formats.store import Store
from catalog.lineage.tables import Lineage
from catalog.plugins import installed, load

KEY_VARIABLE = "CORPUS_SIGNING_KEY"
ALGORITHM = "Ed25519"
SIGNATURE = "signature"


class SigningError(CatalogError):
    """A key cannot be made, read or used."""


def key_path() -> Path:
    """Return where the private key lies: CORPUS_SIGNING_KEY, or in the user's configuration."""
    named = os.environ.get(KEY_VARIABLE)
    if named:
        return Path(named).expanduser().resolve()
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser().resolve() / "corpus-assets" / "signing-key.pem"


def public_path(path: Path) -> Path:
    """Return the public key beside a private one."""
    return path.with_name(path.name + ".pub")


def make_key(path: Path, outside: Sequence[Path]) -> Ed25519PublicKey:
    """Write a new key pair; whoever can write the folders `outside` must not find it there."""
    path = path.expanduser().resolve()
    for folder in outside:
        if path.is_relative_to(folder.resolve()):
            raise SigningError(
                f"{path} lies in {folder}, beside what it is to vouch for; choose a place outside "
                f"the home and the store with --out, and name it in {KEY_VARIABLE}"
            )
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
            handle.write(private)
        public_path(path).write_bytes(pem(key.public_key()))
    except FileExistsError as error:
        raise SigningError(
            f"there is a key at {path} already, and certificates may be signed with it; name "
            "another file with --out"
        ) from error
    except OSError as error:
        raise SigningError(
            f"cannot write {path}: {error.strerror}; choose another --out"
        ) from error
    return key.public_key()


def pem(key: Ed25519PublicKey) -> bytes:
    """Return a public key as it is published."""
    return key.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)


def load_public_key(path: Path) -> Ed25519PublicKey:
    """Return a published key."""
    try:
        key = form.load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise SigningError(f"cannot read the public key {path}: {error.strerror}") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SigningError(
            f"{path} is not a public key in PEM form; ask the operator of the corpus for the file "
            "that `catalog takedown keygen` wrote (.pub)"
        ) from error
    if not isinstance(key, Ed25519PublicKey):
        raise SigningError(f"{path} is a key of another kind; certificates are signed with Ed25519")
    return key


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return SHA-256 of the public key's 32 bytes, by which people compare keys."""
    return sha256(key.public_bytes_raw()).hexdigest()


def check_signature(body: Mapping[str, Any], keys: Sequence[Ed25519PublicKey]) -> str | None:
    """Return what is wrong with a certificate's signature; None when one of the keys made it."""
    signature = body.get(SIGNATURE)
    if not signature:
        return "is not signed"
    try:
        named, value = signature["key_sha256"], bytes.fromhex(signature["value"])
    except (TypeError, KeyError, ValueError):
        return "has a damaged signature"
    for key in keys:
        if fingerprint(key) == named:
            try:
                key.verify(value, signed_bytes(body))
            except InvalidSignature:
                return "was altered after it was signed, or its signature was forged"
            return None
    given = ", ".join(fingerprint(key)[:16] for key in keys)
    return f"is signed with another key ({str(named)[:16]}) than the one given ({given})"


def signed_bytes(body: Mapping[str, Any]) -> bytes:
    """Return what a signature covers."""
    rest = {name: value for name, value in body.items() if name != SIGNATURE}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


@dataclass(frozen=True)
class Signer:
    """The private key of this installation, and the head record beside it."""

    path: Path
    key: Ed25519PrivateKey

    @classmethod
    def load(cls) -> "Signer | None":
        """Return the key at `key_path`; None where no key was made and none is asked for."""
        path = key_path()
        if not path.exists() and not os.environ.get(KEY_VARIABLE):
            return None
        try:
            mode = path.stat().st_mode
            if mode & 0o077:
                raise SigningError(
                    f"others can read the signing key {path}: run `chmod 600 {path}`"
                )
            key = form.load_pem_private_key(path.read_bytes(), password=None)
        except OSError as error:
            raise SigningError(
                f"cannot read the signing key {path}: {error.strerror}; `catalog takedown keygen` "
                f"makes one, {KEY_VARIABLE} names it"
            ) from error
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise SigningError(f"{path} is not a private key that can be read") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise SigningError(f"{path} is a key of another kind; certificates need Ed25519")
        return cls(path, key)

    @property
    def key_sha256(self) -> str:
        return fingerprint(self.key.public_key())

    def sign(self, body: Mapping[str, Any]) -> dict[str, str]:
        """Return the field `signature` of a certificate."""
        value = self.key.sign(signed_bytes(body)).hex()
        return {"algorithm": ALGORITHM, "key_sha256": self.key_sha256, "value": value}

    def expect_head(self, store_url: str, chain: Sequence[CertificateRow]) -> None:
        """Refuse to sign on top of a chain that is not the one signed before."""
        problem = broken_head(load_heads(heads_path(self.path)), store_url, chain)
        if problem is not None:
            raise SigningError(
                f"{problem}. Bring the certificates and their rows back from a copy; to begin "
                f"another chain knowingly, move {heads_path(self.path)} away"
            )

    def record_head(self, store_url: str, number: int, digest: str) -> None:
        """Note the last certificate of a store, beside the key."""
        path = heads_path(self.path)
        heads = load_heads(path) | {_place(store_url): {"number": number, "sha256": digest}}
        temporary = path.with_name(path.name + ".new")
        try:
            with open(
                os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w"
            ) as file:
                json.dump(heads, file, indent=1, sort_keys=True)
            os.replace(temporary, path)
        except OSError as error:
            raise SigningError(f"cannot write the head record {path}: {error.strerror}") from error


Heads = dict[str, dict[str, Any]]


def heads_path(key: Path) -> Path:
    """Return the head record beside a private key."""
    return key.with_name(key.name + ".heads")


def load_heads(path: Path) -> Heads:
    """Return store -> number and digest of its last certificate; empty where nothing was
    recorded."""
    try:
        found: Heads = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SigningError(f"cannot read the head record {path}: {error}") from error
    return found


def head_of(heads: Heads, store_url: str) -> dict[str, Any] | None:
    """Return what the head record says of a store."""
    return heads.get(_place(store_url))


def _place(store_url: str) -> str:
    """Return a store's address in one spelling."""
    url = store_url.removeprefix("file://")
    return url.rstrip("/") if "://" in url else str(Path(url).expanduser().resolve())


def broken_head(heads: Heads, store_url: str, chain: Sequence[CertificateRow]) -> str | None:
    """Return how a chain contradicts the head record; None when it goes at least as far."""
    head = head_of(heads, store_url)
    if head is None:
        return None
    if len(chain) < head["number"]:
        return (
            f"the chain of certificates ends with number {len(chain)}, and {head['number']} were "
            "signed: the last ones were removed, or an old catalog was put back"
        )
    if chain[head["number"] - 1].sha256 != head["sha256"]:
        return f"certificate number {head['number']} is not the one that was signed"
    return None


# A takedown's proof, looked at again.


SEARCH_GROUP = "catalog.takedown_search"


@dataclass(frozen=True)
class Trust:
    """What a verifier knows from elsewhere than catalog and store."""

    keys: Sequence[Ed25519PublicKey] = ()
    heads: Path | None = None

    @classmethod
    def given(cls, public_keys: Sequence[Path]) -> "Trust":
        """Return keys that were named, or the one beside this installation's own signing key."""
        own = key_path()
        paths = list(public_keys) or [path for path in [public_path(own)] if path.exists()]
        heads = heads_path(own)
        return cls([load_public_key(path) for path in paths], heads if heads.exists() else None)


def verify_takedown(
    registry: Registry,
    store: Store,
    request_id: int,
    trust: Trust | None = None,
    home: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return problems of a takedown's proof; `whole` when there is none.

    Reads columns of ids, and where a searcher is installed every live text once.
    """
    registry.takedown(request_id)
    trust = trust or Trust()
    broken = broken_links(registry, store, trust)
    mine = registry.certificates(request_id)
    if not mine:
        raise UnknownName(
            f"takedown {request_id} has no certificate yet: `catalog takedown run` writes it"
        )
    body = json.loads(store.read(mine[-1].path))
    doc_ids = [bytes.fromhex(row["doc_id"]) for row in body["documents"]]
    text_ids = [bytes.fromhex(row["text_id"]) for row in body["documents"]]
    versions = [version.name for version in registry.versions() if version.status == "live"]
    found = live_holders(registry, store, doc_ids)
    copies = 0
    for name in versions:
        with Lineage(registry, store, name) as lineage:
            same = lineage.query(
                f"SELECT count(*) AS n FROM {lineage.scan('texts')} WHERE list_contains(?, text_id)",
                [text_ids],
            )
            copies += int(same[0]["n"])
    gone = [*body["files"]["deleted"], *body["files"]["left"]]
    left = [path for path in gone if _is_there(store, path)]
    kept = body["files"]["kept"]
    search = _search_again(registry, store, body, home, kept, tell)
    strange = [one for one in (search or {}).get("holding", ()) if not one["is_source"]]
    return {
        "request": request_id,
        "certificate": mine[-1].path,
        "documents_removed": len(doc_ids),
        "files_kept": sum(store.exists(path) for path in kept),
        "files_left": left,
        "certificates_checked": len(registry.certificates()),
        "broken_certificates": broken,
        "signed_by": (body.get("signature") or {}).get("key_sha256"),
        "signature_checked": bool(trust.keys),
        "head_checked": bool(trust.heads and head_of(load_heads(trust.heads), store.url)),
        "versions_searched": versions,
        "documents_found": found,
        "copies_under_other_addresses": copies,
        "search": search,
        "whole": bool(doc_ids) and not (broken or found or left or strange),
    }


def open_files(registry: Registry, store: Store, request_id: int) -> list[dict[str, str]]:
    """Return the files that keep a request open, by its last certificate, and what to do about each;
    none once it is done."""
    mine = registry.certificates(request_id)
    if not mine or registry.takedown(request_id).status not in ("pending", "running"):
        return []
    body = json.loads(store.read(mine[-1].path))
    left = [{"file": path, "to_do": "could not be deleted"} for path in body["files"]["left"]]
    holding = (body["search"] or {}).get("holding", ())
    return left + [
        {"file": one["file"], "to_do": f"{one['said']}: {one['to_do']}"}
        for one in holding
        if not one["is_source"]
    ]


def live_holders(
    registry: Registry, store: Store, doc_ids: Sequence[bytes]
) -> list[dict[str, str]]:
    """Return where live versions have a document, by version and table: a removed one is nowhere."""
    found: list[dict[str, str]] = []
    for version in registry.versions():
        if version.status != "live" or not doc_ids:
            continue
        with Lineage(registry, store, version.name) as lineage:
            for table in ("texts", "final_text", "spans"):
                found += [
                    {"version": version.name, "table": table, "doc_id": row["doc_id"].hex()}
                    for row in lineage.query(
                        f"SELECT DISTINCT doc_id FROM {lineage.scan(table)} "
                        "WHERE list_contains(?, doc_id)",
                        [list(doc_ids)],
                    )
                ]
    return found


def _is_there(store: Store, path: str) -> bool:
    """Return whether a file of the store is there, or a leftover elsewhere in the home."""
    return Path(path).exists() if path.startswith("/") else store.exists(path)


def _search_again(
    registry: Registry,
    store: Store,
    body: dict[str, Any],
    home: Path | None,
    kept: Sequence[str],
    tell: Callable[[str], None],
) -> dict[str, Any] | None:
    """Return what a search of all live texts and tokens finds, and of all other files of the home.

    None where nothing that could search is installed.
    """
    searchers = installed(SEARCH_GROUP)
    if not searchers:
        return None
    search = load(searchers[0], "takedown search")
    held_by = [change["before"] for change in body["versions"]]
    found: dict[str, Any] = search(
        registry, store.url, body["documents"], held_by, home, kept, tell
    )
    return found


def broken_links(registry: Registry, store: Store, trust: Trust) -> list[str]:
    """Return certificates that were altered, removed or forged, or do not follow the one before
    them."""
    broken: list[str] = []
    unsigned: list[str] = []
    chain = registry.certificates()
    previous: str | None = None
    for number, certificate in enumerate(chain, 1):
        path = certificate.path
        try:
            data = store.read(path)
            body = json.loads(data)
            named = (body["previous_sha256"], body["number"], body["request"]["id"])
            page = store.read(path.removesuffix(".json") + ".html")
        except (StoreFileError, ValueError, KeyError, TypeError) as error:
            broken.append(f"{path}: cannot be read, or its page ({type(error).__name__})")
        else:
            if hashlib.sha256(data).hexdigest() != certificate.sha256:
                broken.append(f"{path}: altered since it was written")
            elif named != (previous, number, certificate.request_id) or (
                certificate.previous_sha256 != previous
            ):
                broken.append(f"{path}: does not follow the certificate before it")
            if hashlib.sha256(page).hexdigest() != body["page_sha256"]:
                broken.append(f"{path}: its page was altered since it was written")
            wrong = check_signature(body, trust.keys) if trust.keys else None
            if wrong is None:
                unsigned.clear()  # whoever signs this one vouches for all before it
            elif body.get(SIGNATURE):
                broken.append(f"{path}: {wrong}")
            else:
                unsigned.append(f"{path}: {wrong}")
        previous = certificate.sha256
    if trust.heads is not None:
        head = broken_head(load_heads(trust.heads), store.url, chain)
        broken += [head] if head is not None else []
    return broken + unsigned


def verify_copy(path: Path, keys: Sequence[Ed25519PublicKey]) -> dict[str, Any]:
    """Check a copy of a certificate, and of its page where that lies beside it, offline."""
    try:
        body = json.loads(path.read_bytes())
        answer = {
            "certificate": str(path),
            "request": body["request"]["id"],
            "number": body["number"],
            "issued_at": body["issued_at"],
            "documents_removed": len(body["documents"]),
            "files_left": list(body["files"]["left"]),
            "copies_left": len(body["copies"]),
            "signed_by": (body.get(SIGNATURE) or {}).get("key_sha256"),
        }
    except OSError as error:
        raise StoreFileError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreFileError(
            f"{path} is not a certificate of a takedown; give the .json file"
        ) from error
    problems = []
    if not keys:
        problems.append("no public key was given, so anybody may have written it: use --public-key")
    elif (wrong := check_signature(body, keys)) is not None:
        problems.append(f"it {wrong}")
    page = path.with_suffix(".html")
    if page.exists() and hashlib.sha256(page.read_bytes()).hexdigest() != body["page_sha256"]:
        problems.append(f"the page {page.name} beside it is not the one that belongs to it")
    return answer | {
        "page_checked": page.exists(),
        "problems": problems,
        "whole": bool(answer["documents_removed"]) and not (problems or answer["files_left"]),
    }
