"""The key that signs what is promised about takedowns, and the head record beside it.

Certificates and entries of the order book are JSON objects. Their field `signature` covers all
others: the bytes that are signed are the object without that field, as JSON with sorted keys, no
spaces and non-ASCII characters escaped (Ed25519). The key lies outside the catalog and the store.

A chain that is signed cannot be altered, but its last links can be removed. So the head record, a
file beside the key, holds number and digest of the last entry of every order book that was signed
with it, by the book's id: a book that was cut short or begun again does not reach it, wherever its
store lies by now.
"""

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from catalog.answers import Shown
from catalog.db import OrderBookRow
from catalog.errors import CatalogError
from catalog.formats.order_book import SIGNATURE

KEY_VARIABLE = "CORPUS_SIGNING_KEY"
ALGORITHM = "Ed25519"
RESTORE = "`catalog takedown restore`"
NEWER = "restore catalog and store from a newer backup"


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
                f"{path} is in {folder}, next to what it signs; choose a path outside home and "
                f"store with --out, and set {KEY_VARIABLE} to it"
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
            f"a key already exists at {path}, and certificates may be signed with it; choose "
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
        raise SigningError(f"{path} is not an Ed25519 key; certificates are signed with Ed25519")
    return key


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return SHA-256 of the public key's 32 bytes, by which people compare keys."""
    return sha256(key.public_bytes_raw()).hexdigest()


@dataclass(frozen=True)
class Key:
    """A key pair that was made, its public half as it is published."""

    private_key: Annotated[str, Shown(form=lambda path: f"{path} (keep it private)")]
    public_key: str
    key_sha256: Annotated[str, Shown("sha256")]
    pem: str

    shows: ClassVar = ("private_key", "public_key", "key_sha256")

    @classmethod
    def of(cls, path: Path, key: Ed25519PublicKey) -> "Key":
        return cls(str(path), str(public_path(path)), fingerprint(key), pem(key).decode())

    @property
    def conclusion(self) -> str:
        published = "Publish this key and its SHA-256 where requesters can find them:"
        return f"{published}\n\n{self.pem.rstrip()}"


def check_signature(body: Mapping[str, Any], keys: Sequence[Ed25519PublicKey]) -> str | None:
    """Return what is wrong with the signature of a certificate or entry; None when one of the keys made it."""
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
        if not os.path.exists(path) and not os.environ.get(KEY_VARIABLE):
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
                f"cannot read the signing key {path}: {error.strerror}; `catalog takedown "
                f"keygen` creates one, {KEY_VARIABLE} is its path"
            ) from error
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise SigningError(f"{path} is not a private key that can be read") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise SigningError(f"{path} is not an Ed25519 key; certificates need Ed25519")
        return cls(path, key)

    @property
    def key_sha256(self) -> str:
        return fingerprint(self.key.public_key())

    def sign(self, body: Mapping[str, Any]) -> dict[str, str]:
        """Return the field `signature` of a certificate or entry."""
        value = self.key.sign(signed_bytes(body)).hex()
        return {"algorithm": ALGORITHM, "key_sha256": self.key_sha256, "value": value}

    def record_head(self, book: str, number: int, digest: str) -> None:
        """Note the last entry of a book, beside the key; a later one that is noted stays."""
        path = heads_path(self.path)
        temporary = path.with_name(path.name + ".new")
        try:
            with open(self.path, "rb") as turn:
                fcntl.flock(turn, fcntl.LOCK_EX)  # two commands may sign at once
                heads = load_heads(path)
                if heads.get(book, {"number": 0})["number"] >= number:
                    return
                heads[book] = {"number": number, "sha256": digest}
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
                with open(os.open(temporary, flags, 0o600), "w") as file:
                    json.dump(heads, file, indent=1, sort_keys=True)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, path)
        except OSError as error:
            raise SigningError(f"cannot write the head record {path}: {error.strerror}") from error


Heads = dict[str, dict[str, Any]]


def heads_path(key: Path) -> Path:
    """Return the head record beside a private key."""
    return key.with_name(key.name + ".heads")


def load_heads(path: Path) -> Heads:
    """Return book -> number and digest of its last entry; empty where nothing was recorded."""
    try:
        found: Heads = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SigningError(f"cannot read the head record {path}: {error}") from error
    return found


@dataclass(frozen=True)
class Trust:
    """What a verifier knows from elsewhere than catalog and store."""

    keys: Sequence[Ed25519PublicKey] = ()  # published ones
    heads: Path | None = None  # the head record, where this installation has a key of its own
    own: str | None = None  # SHA-256 of that key

    @classmethod
    def given(cls, public_keys: Sequence[Path] = ()) -> "Trust":
        """Return keys that were named, or the one beside this installation's own signing key."""
        path = key_path()
        heads, public = heads_path(path), public_path(path)
        own: Ed25519PublicKey | None = None
        if os.path.exists(public):
            own = load_public_key(public)
        elif os.access(path, os.R_OK) and (signer := Signer.load()) is not None:
            own = signer.key.public_key()
        keys = [load_public_key(each) for each in public_keys] or ([own] if own else [])
        is_here = own is not None or os.path.exists(path) or os.path.exists(heads)
        return cls(keys, heads if is_here else None, fingerprint(own) if own else None)

    def knows(self, book: str | None) -> bool:
        """Whether the head record is at hand and has a book."""
        return self.heads is not None and book in load_heads(self.heads)

    def broken_head(
        self, book: str | None, rows: Sequence[OrderBookRow], signed_by: str | None
    ) -> str | None:
        """Return how a book contradicts the head record; None when it goes at least as far.

        `signed_by` is the key of its last signed entry: a book that the own key signed is known.
        """
        if self.heads is None or book is None:
            return None
        head = load_heads(self.heads).get(book)
        if head is None:
            if signed_by is None or signed_by != self.own:
                return None
            return (
                "the order book is signed with this installation's key, but the head record "
                f"{self.heads} does not list it, so entries may be missing at its end: restore the "
                f"head record from its backup; if it is lost, {RESTORE} accepts the book as it is"
            )
        if len(rows) < head["number"]:
            return (
                f"the order book ends with entry {len(rows)}, and {head['number']} were signed: the "
                f"last ones were removed, or an old copy was restored; {NEWER}"
            )
        if rows[head["number"] - 1].sha256 != head["sha256"]:
            return (
                f"entry {head['number']} of the order book is not the one that was signed; {NEWER}"
            )
        return None
