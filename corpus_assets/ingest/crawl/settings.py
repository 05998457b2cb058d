"""What a recipe says of a crawl: which files of it, from where, and how fast.

Which files is identity; where they lie, how they are fetched and whether new crawls are looked
for is not.
"""

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from corpus_assets.core.identity import Settings
from corpus_assets.ingest.fetch import FetchSettings

COMMON_CRAWL = "https://data.commoncrawl.org/"
COMMON_CRAWL_LIST = "https://index.commoncrawl.org/collinfo.json"
CRAWL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class Take(Settings):
    """How much of a crawl is taken: so many files, or a share of them; neither: all."""

    files: int | None = Field(default=None, ge=1, description="number of files")
    share: float | None = Field(default=None, gt=0, le=1, description="share of the files")

    @model_validator(mode="after")
    def _one_way(self) -> "Take":
        if self.files is not None and self.share is not None:
            raise ValueError("say `files` or `share`, not both")
        return self


class IndexSettings(Settings):
    """Records that the columnar URL index rules out are not fetched.

    Status and media type follow `documents.gates`. A record is kept where the index has no value.
    """

    location: str | None = Field(
        default=None, description="folder, file or s3:// prefix of the Parquet files; null: `base`"
    )
    languages: tuple[str, ...] | None = Field(
        default=None,
        description="keep pages with one of these (ISO 639-3, by the crawl's own detector); null: any",
    )
    truncated: Literal["keep", "skip"] = Field(
        default="keep", description="pages whose payload the crawler cut off"
    )

    def identity(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude={"location"})


class CrawlSettings(FetchSettings):
    """A crawl in Common Crawl's layout, on its own servers or anywhere else."""

    base: str = Field(
        default=COMMON_CRAWL,
        description="https://, s3://bucket/ or a folder with `crawl-data/` in it",
    )
    list_url: str | None = Field(
        default=None, description="the list of crawls (collinfo.json); null: found by `base`"
    )
    kind: Literal["warc", "wet"] = Field(default="warc", description="pages, or their plain text")
    files: int | None = Field(
        default=None, ge=1, description="files of each crawl; more contain fewer; null: all"
    )
    share: float | None = Field(
        default=None, gt=0, le=1, description="share of each crawl's files, instead of `files`"
    )
    take: dict[str, Take] = Field(
        default={}, description="snapshot -> how much of it, where it is not as above"
    )
    robots: bool = Field(default=False, description="pin the robots.txt records of these files too")
    index: IndexSettings | None = Field(
        default=None, description="use the columnar URL index; `true` for its defaults"
    )
    follow: Literal["none", "new"] = Field(
        default="none", description="`new`: the weekly schedule adds crawls as they appear"
    )
    after: str | None = Field(
        default=None, description="follow only crawls whose name sorts behind this one"
    )

    @field_validator("index", mode="before")
    @classmethod
    def _defaults(cls, value: Any) -> Any:
        return {True: IndexSettings(), False: None}[value] if isinstance(value, bool) else value

    @field_validator("base")
    @classmethod
    def _a_folder(cls, value: str) -> str:
        if "?" in value or "#" in value or "@" in value:
            raise ValueError("an address without user, query and fragment, ending in /")
        return value if value.endswith("/") else f"{value}/"

    @model_validator(mode="after")
    def _consistent(self) -> "CrawlSettings":
        if self.files is not None and self.share is not None:
            raise ValueError("say `files` or `share`, not both")
        if self.index is not None and self.kind != "warc":
            raise ValueError("index: the columnar index is about WARC files; leave it out for wet")
        return self

    def identity(self) -> dict[str, Any]:
        body = self.model_dump(mode="json", include={"kind", "files", "share", "take", "robots"})
        body["index"] = None if self.index is None else self.index.identity()
        return body

    def take_of(self, snapshot: str) -> Take:
        """How much of a snapshot is taken."""
        return self.take.get(snapshot) or Take(files=self.files, share=self.share)
