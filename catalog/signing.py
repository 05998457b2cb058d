"""Signed certificates: Ed25519, with a key that lies outside the catalog and the store.

A certificate is one JSON object. Its field `signature` covers all others: the bytes that are
signed are the object without that field, as JSON with sorted keys, no spaces and non-ASCII
characters escaped. One file and the public key are enough to check it.

Each certificate signs its number in the chain and the digest of the one before it, so none can be
altered or left out between two others. The end of the chain is known from the head record, a file
beside the key that holds the number and digest of the last certificate of each store: a chain
that was cut short, or written anew, does not reach it.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from catalog.errors import CatalogError
from catalog.rows import CertificateRow

KEY_VARIABLE = "CORPUS_SIGNING_KEY"
ALGORITHM = "Ed25519"
SIGNATURE = "signature"


class SigningError(CatalogError):
    """A key cannot be made, read or used."""


def key_path() -> Path:
    """Where the private key lies: CORPUS_SIGNING_KEY, or in the user's configuration."""
    named = os.environ.get(KEY_VARIABLE)
    if named:
        return Path(named).expanduser().resolve()
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser().resolve() / "corpus-assets" / "signing-key.pem"


def public_path(path: Path) -> Path:
    """The public key beside a private one."""
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
    """A public key as it is published."""
    return key.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)


def load_public_key(path: Path) -> Ed25519PublicKey:
    """A published key."""
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
    """SHA-256 of the public key's 32 bytes, by which people compare keys."""
    return sha256(key.public_bytes_raw()).hexdigest()


def check_signature(body: Mapping[str, Any], keys: Sequence[Ed25519PublicKey]) -> str | None:
    """What is wrong with a certificate's signature; None when one of the keys made it."""
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
    """What a signature covers."""
    rest = {name: value for name, value in body.items() if name != SIGNATURE}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


@dataclass(frozen=True)
class Signer:
    """The private key of this installation, and the head record beside it."""

    path: Path
    key: Ed25519PrivateKey

    @classmethod
    def load(cls) -> "Signer | None":
        """The key at `key_path`; None where no key was made and none is asked for."""
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
        """The field `signature` of a certificate."""
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
    """The head record beside a private key."""
    return key.with_name(key.name + ".heads")


def load_heads(path: Path) -> Heads:
    """Store -> number and digest of its last certificate; empty where nothing was recorded."""
    try:
        found: Heads = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SigningError(f"cannot read the head record {path}: {error}") from error
    return found


def head_of(heads: Heads, store_url: str) -> dict[str, Any] | None:
    """What the head record says of a store."""
    return heads.get(_place(store_url))


def _place(store_url: str) -> str:
    """A store's address in one spelling."""
    url = store_url.removeprefix("file://")
    return url.rstrip("/") if "://" in url else str(Path(url).expanduser().resolve())


def broken_head(heads: Heads, store_url: str, chain: Sequence[CertificateRow]) -> str | None:
    """How a chain contradicts the head record; None when it goes at least as far."""
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
