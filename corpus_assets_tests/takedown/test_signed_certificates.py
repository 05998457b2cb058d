"""Certificates that are signed: what a forger can do, and what a stranger can check."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from catalog.cli.commands import main as catalog_main
from catalog.db.registry import Registry
from catalog.db.rows import NewTakedown
from catalog.formats.store import Store as CatalogStore
from catalog.takedown import certificates as signing
from catalog.takedown.certificates import Trust, broken_links
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.takedown.certificate import Deletion, Proof, write_certificates
from corpus_assets.versions.removed import REMOVED, gram_digests
from corpus_assets_tests.small_corpus import prose

FORGER = """
import hashlib, json, sqlite3, sys
from pathlib import Path
home, previous = Path(sys.argv[1]), None
db = sqlite3.connect(home / "catalog.db")
for row, path in db.execute("SELECT id, path FROM takedown_certificates ORDER BY id").fetchall():
    body = json.loads((home / "store" / path).read_bytes())
    body["request"]["reason"], body["previous_sha256"] = "somebody else asked", previous
    data = json.dumps(body, indent=1, sort_keys=True).encode()
    (home / "store" / path).write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    db.execute("UPDATE takedown_certificates SET sha256 = ?, previous_sha256 = ? WHERE id = ?",
               (digest, previous, row))
    previous = digest
db.commit()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with an empty catalog; keys of the test's own."""
    for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL", signing.KEY_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    place = Home.resolve(str(tmp_path / "home"))
    Registry(place.catalog_url).upgrade()
    return place


def _run(home: Home, *arguments: str) -> Result:
    return CliRunner().invoke(catalog_main, ["takedown", *arguments, "--home", str(home.root)])


def _keygen(home: Home) -> Path:
    done = _run(home, "keygen", "--json")
    assert done.exit_code == 0, done.output
    return Path(json.loads(done.stdout)["public_key"])


def _certify(home: Home, *urls: str, removed: bool = True) -> list[Path]:
    """Certificates of requests, each for one document that was removed."""
    registry, store = Registry(home.catalog_url), open_store(home.store_url)
    files = []
    for url in urls:
        ((row, _),) = registry.file_takedowns([NewTakedown("url", url, False, "asked")])
        doc_id = hashlib.sha256(url.encode()).digest()[:16]
        columns = {name: pa.nulls(1, REMOVED.field(name).type) for name in REMOVED.names}
        columns["doc_id"] = pa.array([doc_id], pa.binary(16))
        columns["text_id"] = pa.array([doc_id], pa.binary(16))
        columns["gram_digests"] = pa.array(gram_digests([prose(url)]))
        proof = Proof(
            pa.table(columns, schema=REMOVED), [], {}, None, {}, Deletion("deleted", [], []), {}
        )
        named = {row.id: [doc_id.hex()] if removed else []}
        write_certificates(store, registry, [row], named, proof)
        files.append(home.root / "store" / registry.certificates(row.id)[-1].path)
    return files


def _broken(home: Home, *keys: Path) -> list[str]:
    trust = Trust.given(keys)
    return broken_links(Registry(home.catalog_url), CatalogStore(home.store_url), trust)


def test_the_private_key_is_its_owners_alone_and_lies_outside_home_and_store(home: Home) -> None:
    public = _keygen(home)
    private = signing.key_path()
    assert private.stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE" not in public.read_bytes()
    assert not private.is_relative_to(home.root)
    inside = _run(home, "keygen", "--out", str(home.root / "store" / "key.pem"))
    assert inside.exit_code == 2
    assert "choose a place outside the home and the store" in inside.stderr
    again = _run(home, "keygen")
    assert again.exit_code == 2
    assert "there is a key at" in again.stderr
    private.chmod(0o644)
    with pytest.raises(signing.SigningError, match="chmod 600"):
        signing.Signer.load()


def test_a_stranger_checks_a_copy_with_the_public_key_alone(home: Home, tmp_path: Path) -> None:
    public = _keygen(home)
    (certificate,) = _certify(home, "com,example)/a")
    strangers = tmp_path / "stranger"
    strangers.mkdir()
    for file in (certificate, certificate.with_suffix(".html"), public):
        shutil.copy(file, strangers)
    shutil.rmtree(home.root)
    command = [sys.executable, "-m", "catalog", "takedown", "verify", certificate.name]
    command += ["--public-key", public.name]
    done = subprocess.run(command, cwd=strangers, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The certificate is genuine." in done.stdout
    page = strangers / certificate.with_suffix(".html").name
    page.write_text(page.read_text().replace("was removed", "was kept"))
    copy = str(strangers / certificate.name)
    altered = _run(home, "verify", copy, "--public-key", str(strangers / public.name))
    assert altered.exit_code == 1
    assert "is not the one that belongs to it" in altered.output


def test_an_altered_copy_and_another_key_are_told_apart(home: Home, tmp_path: Path) -> None:
    public = _keygen(home)
    (certificate,) = _certify(home, "com,example)/a")
    other = tmp_path / "other.pem"
    assert _run(home, "keygen", "--out", str(other)).exit_code == 0
    wrong = _run(home, "verify", str(certificate), "--public-key", f"{other}.pub")
    assert wrong.exit_code == 1
    assert "is signed with another key" in wrong.output
    assert _run(home, "verify", str(certificate)).exit_code == 1, "no key, no trust"
    private = _run(home, "verify", str(certificate), "--public-key", str(other))
    assert private.exit_code == 2
    assert "is not a public key" in private.stderr
    body = json.loads(certificate.read_bytes())
    body["files"]["deleted"] = ["all of it"]
    certificate.write_text(json.dumps(body))
    altered = _run(home, "verify", str(certificate), "--public-key", str(public))
    assert altered.exit_code == 1
    assert "was altered after it was signed" in altered.output


def test_a_rewritten_chain_with_its_rows_is_found_out_when_it_was_signed(home: Home) -> None:
    public = _keygen(home)
    _certify(home, "com,example)/a", "com,example)/b")
    assert _broken(home, public) == []
    subprocess.run([sys.executable, "-c", FORGER, str(home.root)], check=True)
    found = _broken(home, public)
    assert sum("was altered after it was signed" in line for line in found) == 2
    assert "certificate number 2 is not the one that was signed" in found


def test_a_chain_that_was_cut_short_does_not_reach_its_head(home: Home) -> None:
    public = _keygen(home)
    *_, last = _certify(home, "com,example)/a", "com,example)/b")
    with sqlite3.connect(home.root / "catalog.db") as database:
        database.execute("DELETE FROM takedown_certificates WHERE request_id = 2")
    database.close()
    last.unlink()
    (problem,) = _broken(home, public)
    assert "ends with number 1, and 2 were signed" in problem
    with pytest.raises(signing.SigningError, match="Bring the certificates"):
        _certify(home, "com,example)/c")


def test_signatures_that_were_stripped_are_missed(home: Home) -> None:
    public = _keygen(home)
    _certify(home, "com,example)/a")
    script = FORGER.replace(
        "    data = json", '    body["signature"] = body["key_sha256"] = None\n    data = json'
    )
    subprocess.run([sys.executable, "-c", script, str(home.root)], check=True)
    assert any("is not signed" in line for line in _broken(home, public))


def test_a_signed_certificate_vouches_for_unsigned_ones_before_it(home: Home) -> None:
    first, *_ = _certify(home, "com,example)/a")
    assert json.loads(first.read_bytes())["signature"] is None
    public = _keygen(home)
    assert any("is not signed" in line for line in _broken(home, public))
    _certify(home, "com,example)/b")
    assert _broken(home, public) == []


def test_without_a_key_certificates_claim_no_more_than_digests_show(home: Home) -> None:
    (certificate,) = _certify(home, "com,example)/a")
    page = certificate.with_suffix(".html").read_text()
    assert "not signed, so it does not show changes by who can write to both" in page
    assert "unnoticed" not in page
    subprocess.run([sys.executable, "-c", FORGER, str(home.root)], check=True)
    assert _broken(home) == [], "as the page says"


def test_a_genuine_certificate_without_documents_proves_no_removal(home: Home) -> None:
    public = _keygen(home)
    (certificate,) = _certify(home, "com,example)/a", removed=False)
    done = _run(home, "verify", str(certificate), "--public-key", str(public))
    assert done.exit_code == 1
    assert "Nothing was removed" in done.output


def test_what_is_not_a_certificate_is_refused_in_one_line(home: Home, tmp_path: Path) -> None:
    public = _keygen(home)
    (tmp_path / "x.json").write_text("[]")
    done = _run(home, "verify", str(tmp_path / "x.json"), "--public-key", str(public))
    assert done.exit_code == 2
    assert "is not a certificate of a takedown" in done.stderr


def _body(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_bytes())
    return loaded


def test_the_signature_can_be_checked_with_any_ed25519_library(home: Home) -> None:
    """The bytes that are signed are as the documentation says."""
    public = _keygen(home)
    (certificate,) = _certify(home, "com,example)/ä")
    body = _body(certificate)
    signature = body.pop("signature")
    data = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    signing.load_public_key(public).verify(bytes.fromhex(signature["value"]), data)
