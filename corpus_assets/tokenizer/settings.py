"""What a recipe says of its tokenizer."""

from pydantic import Field, model_validator

from corpus_assets.core.identity import Settings
from corpus_assets.shards.tokens import END_OF_DOCUMENT, PAD
from corpus_assets.tokenizer.audit import AuditSettings
from corpus_assets.tokenizer.sample import TokenizerSample
from corpus_assets.tokenizer.train import TokenizerSettings


class TokenizerEntry(Settings):
    """Train a tokenizer, or pin a `tokenizer.json` by path and digest."""

    train: TokenizerSettings | None = None
    sample: TokenizerSample = TokenizerSample()
    pinned: str | None = None
    sha256: str | None = None
    end_of_document: str | None = Field(
        default=None, description="the special token that ends a document, if not the usual one"
    )
    pad: str | None = Field(
        default=None, description="the special token that fills a sample, if not the usual one"
    )
    audit: AuditSettings = Field(
        default=AuditSettings(),
        description="what fails the audit; no part of what a version is",
    )

    @model_validator(mode="after")
    def _one_way(self) -> "TokenizerEntry":
        if (self.train is None) == (self.pinned is None):
            raise ValueError("say either `train` or `pinned`")
        if self.pinned is not None and self.sha256 is None:
            raise ValueError("a pinned tokenizer needs its `sha256`")
        eod, pad = self.special_names().values()
        if eod == pad:
            raise ValueError(f"{eod} cannot both end a document and fill a sample; name another")
        named = self.train.special_tokens if self.train is not None else (eod, pad)
        for needed in (eod, pad):
            if needed not in named:
                raise ValueError(
                    f"train.special_tokens must hold {needed}: the shards are built on it"
                )
        return self

    def special_names(self) -> dict[str, str]:
        """Names of the tokens that end a document and fill a sample."""
        return {"eod": self.end_of_document or END_OF_DOCUMENT, "pad": self.pad or PAD}
