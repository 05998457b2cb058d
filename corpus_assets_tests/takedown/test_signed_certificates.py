"""Certificates that are signed: what a forger can do, and what a stranger can check."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from catalog.cli.commands import main as catalog_main
from catalog.db.registry import Registry
from catalog.db.rows import NewTakedown
from catalog.errors import OrderBookError
from catalog.formats.store import FileStore as CatalogStore
from catalog.takedown import signing
from catalog.takedown.book import book_problems
from catalog.takedown.certificates import broken_links
from catalog.takedown.signing import Trust
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.lineage.text_digests import gram_digests
from corpus_assets.takedown.certificate import Deletion, Proof, write_certificates
from corpus_assets.versions.removed import REMOVED
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

BOOK_TOO = """
def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
previous = None
rows = dict(db.execute("SELECT path, sha256 FROM takedown_certificates"))
for path in sorted((home / "store" / "order_book").iterdir()):
    entry = json.loads(path.read_bytes())
    entry["previous_sha256"] = previous
    for row in entry["body"].get("certificates", ()):
        row["sha256"] = rows[row["path"]]
    path.write_bytes(canonical(entry))
    del entry["signature"]
    previous = hashlib.sha256(canonical(entry)).hexdigest()
    db.execute("UPDATE order_book SET sha256 = ?, entry = ? WHERE number = ?",
               (previous, canonical(entry).decode(), entry["number"]))
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
    place = Registry(home.catalog_url), CatalogStore(home.store_url)
    trust = Trust.given(keys)
    return [*book_problems(*place, trust), *broken_links(*place, trust)]


def test_the_private_key_is_its_owners_alone_and_lies_outside_home_and_store(home: Home) -> None:
    public = _keygen(home)
    private = signing.key_path()
    assert private.stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE" not in public.read_bytes()
    assert not private.is_relative_to(home.root)
    inside = _run(home, "keygen", "--out", str(home.root / "store" / "key.pem"))
    assert inside.exit_code == 2
    assert "choose a path outside home and store" in inside.stderr
    again = _run(home, "keygen")
    assert again.exit_code == 2
    assert "a key already exists at" in again.stderr
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
    assert "the catalog lists other certificates" in found


def _cut_short(home: Home, entries: int) -> None:
    """Take the last entries out of the book, with all that they brought, in catalog and store."""
    with sqlite3.connect(home.root / "catalog.db") as database:
        database.execute("DELETE FROM order_book WHERE number > ?", (entries,))
        for table in ("takedown_certificates", "suppression_holders", "takedown_actions"):
            database.execute(f"DELETE FROM {table} WHERE request_id > 1")
        database.execute("DELETE FROM suppressions WHERE request_id > 1")
        database.execute("DELETE FROM takedown_requests WHERE id > 1")
    database.close()
    for path in (home.root / "store" / "order_book").iterdir():
        if int(path.stem) > entries:
            path.unlink()


def test_newest_certificates_that_were_removed_are_missed_wherever_the_store_lies(
    home: Home,
) -> None:
    public = _keygen(home)
    *_, last = _certify(home, "com,example)/a", "com,example)/b")
    for file in (last, last.with_suffix(".html")):
        file.unlink()
    _cut_short(home, 2)
    told = "ends with entry 2, and 4 were signed"
    assert any(told in line for line in _broken(home, public))
    store = home.root / "store"
    store.rename(home.root / "elsewhere")
    store.symlink_to(home.root / "elsewhere")
    assert any(told in line for line in _broken(home, public)), "behind a link"
    home.root.rename(home.root.with_name("renamed"))
    moved = Home.resolve(str(home.root.with_name("renamed")))
    (moved.root / "store").unlink()
    (moved.root / "elsewhere").rename(moved.root / "store")
    assert any(told in line for line in _broken(moved, public)), "in a home of another name"
    with pytest.raises(OrderBookError, match="and 4 were signed"):
        _certify(moved, "com,example)/c")
    restored = _run(moved, "restore")
    assert (restored.exit_code, "and 4 were signed" in restored.stderr) == (2, True)


def test_a_signed_book_that_the_head_record_does_not_know_is_a_problem(home: Home) -> None:
    public = _keygen(home)
    _certify(home, "com,example)/a")
    heads = signing.heads_path(signing.key_path())
    heads.unlink()
    assert any("does not list it" in line for line in _broken(home, public))
    with pytest.raises(OrderBookError, match="restore the head record"):
        _certify(home, "com,example)/b")
    told = _run(home, "restore")
    assert told.exit_code == 0, told.output
    assert "did not have this order book and does now" in told.output
    assert _broken(home, public) == []
    _certify(home, "com,example)/b")


def test_each_store_and_copy_of_it_is_known_by_its_book(home: Home, tmp_path: Path) -> None:
    """One key signs for several homes, and a copy of one may go on by itself."""
    _keygen(home)
    other = Home.resolve(str(tmp_path / "other"))
    Registry(other.catalog_url).upgrade()
    _certify(home, "com,example)/a")
    _certify(other, "com,example)/a", "com,example)/b")
    heads = signing.load_heads(signing.heads_path(signing.key_path()))
    assert sorted(head["number"] for head in heads.values()) == [2, 4]
    for place in (home, other):
        book = json.loads((place.root / "store/order_book/00000001.json").read_bytes())["book"]
        assert book in heads
        assert _body(place.root / "store/certificates/00000001.json")["book"] == {
            "id": book,
            "entry": 1,
            "sha256": Registry(place.catalog_url).order_book().rows[0].sha256,
        }


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
    assert "not signed, so it does not detect changes by anyone who can write to both" in page
    assert "unnoticed" not in page
    forger = FORGER + BOOK_TOO
    subprocess.run([sys.executable, "-c", forger, str(home.root)], check=True)
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
    (tmp_path / "x.json").write_text("[" * 100_000)
    deep = _run(home, "verify", str(tmp_path / "x.json"), "--public-key", str(public))
    assert (deep.exit_code, "nested too deeply" in deep.stderr) == (2, True)


@pytest.mark.parametrize(
    "forge",
    [
        lambda text: text.replace("{", '{"request": {"id": 1, "reason": "forged"},', 1),
        lambda text: text.replace('"reason": "asked"', '"reason": "forged", "reason": "asked"'),
        lambda text: text.replace("\n", "\n "),
        lambda text: text + "\n",
        lambda text: text.replace('"asked"', '"\\u0061sked"'),
    ],
    ids=["key twice", "key twice inside", "spaces", "a line more", "another spelling"],
)
def test_a_copy_is_word_for_word_or_not_genuine(home: Home, forge: Callable[[str], str]) -> None:
    public = _keygen(home)
    (certificate,) = _certify(home, "com,example)/a")
    written = certificate.read_text()
    assert forge(written) != written
    certificate.write_text(forge(written))
    done = _run(home, "verify", str(certificate), "--public-key", str(public))
    assert done.exit_code != 0
    assert "genuine" not in done.output
    certificate.write_text(written)
    assert _run(home, "verify", str(certificate), "--public-key", str(public)).exit_code == 0


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
