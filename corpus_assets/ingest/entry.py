"""What a recipe says of one source: how it is read, where its snapshots are, how they come here."""

from typing import Any

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticKnownError

from catalog.formats.names import check_name
from corpus_assets.core.identity import Name, is_absent
from corpus_assets.ingest.crawl import CrawlSettings
from corpus_assets.ingest.formats import FORMATS
from corpus_assets.ingest.source import SourceSpec


class SourceEntry(SourceSpec):
    """A source and where its snapshots are: snapshot name -> folder, file or glob.

    The snapshots of a crawl are crawls: a list of their names, or snapshot name -> crawl.
    """

    format: str = Field(description="how files are read", json_schema_extra={"enum": list(FORMATS)})
    snapshots: dict[str, str] = Field(default={})
    tier: Name | dict[str, Name] | None = Field(
        default=None,
        exclude_if=is_absent,
        description="the tier of all documents, or snapshot name -> tier; others are graded by "
        "`selection.tiers`",
    )
    skip_files: dict[str, tuple[str, ...]] = Field(
        default={},
        exclude_if=is_absent,
        description="snapshot name -> unreadable files to skip; `corpus parts skip` adds to it",
    )
    site_files: dict[str, str] = Field(
        default={},
        description="snapshot name -> robots.txt, ai.txt and tdmrep.json of its sites: WARC files, "
        "or a folder `HOST/robots.txt` ...",
    )
    crawl: CrawlSettings | None = Field(
        default=None, description="a crawl in Common Crawl's layout"
    )

    @model_validator(mode="before")
    @classmethod
    def _crawls_by_name(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and raw.get("crawl") and isinstance(raw.get("snapshots"), list):
            return raw | {"snapshots": {str(name): str(name) for name in raw["snapshots"]}}
        return raw

    @field_validator("format")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value not in FORMATS:
            expected = ", ".join(map(repr, FORMATS))
            raise PydanticKnownError("literal_error", {"expected": expected})
        return value

    @field_validator("snapshots")
    @classmethod
    def _plain_names(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:  # as a type of keys, the error would name the key as it is written
            check_name("snapshot", name)
        return value

    @model_validator(mode="after")
    def _code_has_paths(self) -> "SourceEntry":
        if self.code is not None and self.fields.path is None and not FORMATS[self.format].is_code:
            raise ValueError("code: set `fields.path` to the column that holds the path of a file")
        return self

    @model_validator(mode="after")
    def _messages_are_in_rows(self) -> "SourceEntry":
        if self.has_messages and self.format not in ("jsonl", "parquet"):
            raise ValueError(
                f"fields.messages: files of format {self.format} have no messages; use jsonl or "
                "parquet"
            )
        return self

    @model_validator(mode="after")
    def _is_complete(self) -> "SourceEntry":
        if self.crawl is None and not self.snapshots:
            raise ValueError(f"source {self.name}: `snapshots` must name at least one")
        named: dict[str, Any] = {"site_files": self.site_files, "skip_files": self.skip_files}
        named |= {"tier": self.tier} if isinstance(self.tier, dict) else {}
        for key, by_snapshot in named.items():
            strange = sorted(set(by_snapshot) - set(self.snapshots))
            if strange:
                raise ValueError(f"{key} names {strange[0]}, which is not among the snapshots")
        if self.crawl is None:
            return self
        if self.format not in ("warc", "wet"):
            raise ValueError(
                f"source {self.name}: a crawl has the format warc, or wet for plain text"
            )
        if self.crawl.index is not None and self.format != "warc":
            raise ValueError("index: the columnar index is about WARC files; leave it out for wet")
        unknown = sorted(set(self.crawl.files_of) - set(self.snapshots))
        if unknown:
            raise ValueError(f"crawl.files_of names {unknown[0]}, which is not among the snapshots")
        return self

    def without_robots(self) -> str | None:
        """Return the first snapshot of web pages whose sites' robots.txt are not given."""
        if self.crawl is not None and self.crawl.robots:
            return None
        without = next((name for name in self.snapshots if name not in self.site_files), None)
        return without if without and FORMATS[self.format].is_web_archive else None

    def tier_of(self, snapshot: str) -> str | None:
        """Return the tier of a snapshot's documents; None where the selection grades them."""
        return self.tier.get(snapshot) if isinstance(self.tier, dict) else self.tier

    def identity(self) -> dict[str, Any]:
        """Return what can change a byte: not where files lie."""
        body = super().identity()
        del body["crawl"], body["site_files"]
        if self.crawl is not None:
            body["crawl"] = self.crawl.identity()
        return body
