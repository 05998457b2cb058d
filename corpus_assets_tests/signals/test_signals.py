"""The signals stage over a table of documents."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import ValidationError

from corpus_assets.core.errors import ModelError
from corpus_assets.core.identity import digest
from corpus_assets.signals.published.gopher import GopherQuality
from corpus_assets.signals.stages import signals as stage
from corpus_assets.signals.stages.settings import SignalSettings
from corpus_assets.signals.stages.signals import compute_signals
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_texts

STATISTICS = SignalSettings.model_validate(
    {"families": [{"family": "gopher_quality"}, {"family": "repetition"}, {"family": "fineweb"}]}
)


# What the statistics say of fixed texts, by (stage version, family versions). When this fails,
# raise the version of the stage or family that changed and pin the new digest.
GOLDEN: dict[tuple[int, ...], str] = {
    (2, 1, 1, 1): "761585dc306a83e854348afd678114cee4a013a638b28e5bf92385f2f07192df"
}


def documents(texts: list[str | None]) -> pa.Table:
    ids = [k.to_bytes(16, "big") for k in range(len(texts))]
    return pa.table(
        {
            "doc_id": pa.array(ids, pa.binary(16)),
            "domain": pa.array(["web"] * len(texts)),
            "text": pa.array(texts, pa.large_string()),
        }
    )


def test_rows_stand_beside_their_documents() -> None:
    table = documents(["one two", None, "drei"])
    found = compute_signals(table, STATISTICS, {})
    assert found.column("doc_id").equals(table.column("doc_id"))
    assert found.column("n_chars").to_pylist() == [7, 0, 4]
    assert found.column("n_words").to_pylist() == [2, 0, 1]
    assert found.schema.names == ["doc_id", *STATISTICS.columns()]


def test_batches_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    table = documents([*ADVERSARIAL, *random_texts(seed=4, n=300)])
    whole = compute_signals(table, STATISTICS, {})
    monkeypatch.setattr(stage, "BATCH_DOCUMENTS", 7)
    monkeypatch.setattr(stage, "BATCH_BYTES", 100)
    chunked = pa.concat_tables([table.slice(0, 13), table.slice(13)])
    assert compute_signals(chunked, STATISTICS, {}).combine_chunks().equals(whole.combine_chunks())


def test_no_documents_give_no_rows_and_all_columns() -> None:
    found = compute_signals(documents([]), STATISTICS, {})
    assert found.num_rows == 0
    assert found.schema.names == ["doc_id", *STATISTICS.columns()]


def test_no_families_still_count_characters() -> None:
    found = compute_signals(documents(["äöü"]), SignalSettings(), {})
    assert found.to_pylist() == [{"doc_id": bytes(16), "n_chars": 3}]


def test_a_family_listed_twice_is_refused() -> None:
    with pytest.raises(ValidationError, match="'n_words' comes from gopher_quality"):
        SignalSettings.model_validate({"families": [{"family": "gopher_quality"}] * 2})


def test_an_unknown_family_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValidationError, match=r"'gophr'.*'gopher_quality'"):
        SignalSettings.model_validate({"families": [{"family": "gophr"}]})


def test_an_unknown_setting_of_a_family_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        SignalSettings.model_validate({"families": [{"family": "fineweb", "short": 3}]})


def test_settings_survive_being_written_and_read() -> None:
    settings = SignalSettings.model_validate(
        {"families": [{"family": "fineweb", "extra_terminal_marks": ":"}, {"family": "language"}]}
    )
    assert SignalSettings.model_validate(settings.model_dump(mode="json")) == settings


def test_the_identity_holds_every_familys_settings_and_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = STATISTICS.identity()
    assert before["families"][2]["extra_terminal_marks"] == ""
    monkeypatch.setattr(GopherQuality, "version", GopherQuality.version + 1)
    assert STATISTICS.identity() != before


def test_model_needs_are_gathered_and_their_absence_is_named() -> None:
    settings = SignalSettings.model_validate(
        {"families": [{"family": "classifier"}, {"family": "language"}]}
    )
    assert settings.needs() == ("classifier:quality", "lid")
    none: Mapping[str, Path] = {}
    with pytest.raises(ModelError, match="'classifier' needs the model 'classifier:quality'"):
        compute_signals(documents(["text"]), settings, none)


def test_values_change_only_together_with_a_version() -> None:
    found = compute_signals(
        documents([*ADVERSARIAL, *random_texts(seed=15, n=200)]), STATISTICS, {}
    )
    values = digest(found.drop_columns(["doc_id"]).to_pylist())
    versions = (stage.VERSION, *(type(family).version for family in STATISTICS.families))
    assert GOLDEN.get(versions) == values
