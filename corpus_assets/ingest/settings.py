"""What a recipe says of ingest: what is let in, and how text is taken from it."""

from typing import Any

from pydantic import Field

from corpus_assets.core.identity import Settings
from corpus_assets.ingest.extract import ExtractionSettings
from corpus_assets.ingest.gates import GateSettings


class IngestSettings(Settings):
    """What is let in, and how text is taken from it."""

    gates: GateSettings = Field(default_factory=GateSettings)
    extraction: ExtractionSettings = ExtractionSettings()

    def identity(self) -> dict[str, Any]:
        """Return what can change a byte: not where a model lies."""
        body = super().identity()
        if self.extraction.model is not None:
            body["extraction"]["model"] = self.extraction.model.identity()
        return body
