"""A tokenizer from a file: a version that is built again needs the file no more."""

import hashlib

import yaml

from corpus_assets.build import build
from corpus_assets.core.home import Home
from corpus_assets.session import open_session, reopen_session
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.stage import audit_of
from corpus_assets.tokenizer.train import train_tokenizer
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.small_corpus import prose


def test_the_audit_of_a_pinned_tokenizer_is_the_same_when_its_file_is_gone(place: Place) -> None:
    settings = TokenizerSettings(vocab_size=400, special_slots=4)
    content = train_tokenizer([prose("kept", i) for i in range(20)], settings)
    place.source("tokenizer.json").write_bytes(content)
    recipe = yaml.safe_load(place.recipe.read_text("utf-8"))
    pinned = {"path": "tokenizer.json", "sha256": hashlib.sha256(content).hexdigest()}
    recipe["tokenizer"] = {"pinned": pinned, "sample": recipe["tokenizer"]["sample"]}
    place.recipe.write_text(yaml.safe_dump(recipe), "utf-8")
    home = Home.resolve(str(place.home))
    with open_session(str(place.recipe), home) as session:
        build(session, "pinned-1")
        before = audit_of(session.pipeline)
    assert before.held_out.documents, "text was held out to look at it with"
    place.source("tokenizer.json").unlink()
    with reopen_session(home, "pinned-1") as session:
        assert audit_of(session.pipeline) == before
