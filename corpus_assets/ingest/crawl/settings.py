"""What a recipe says of a crawl: which files of it, and from where.

Which files is identity; where they lie and whether new crawls are looked for is not.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from corpus_assets.core.identity import Settings

COMMON_CRAWL = "https://data.commoncrawl.org/"
COMMON_CRAWL_LIST = "https://index.commoncrawl.org/collinfo.json"
Files = Annotated[int, Field(ge=1)]
CRAWL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class IndexSettings(Settings):
    """Records that the columnar URL index rules out are not fetched.

    Status and media type follow `documents.gates`. A record is kept where the index has no value.
    """

    location: str | None = Field(
        default=None, description="folder, file or s3:// prefix of the Parquet files; null: `base`"
    )
    languages: tuple[str, ...] | None = Field(
        default=None,
        description="keep pages in one of these (ISO 639-3, by the crawl's detector)",
    )
    truncated: Literal["keep", "skip"] = Field(
        default="keep", description="pages whose payload the crawler truncated"
    )

    def identity(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude={"location"})


class CrawlSettings(Settings):
    """A crawl in Common Crawl's layout, on its own servers or anywhere else."""

    base: str = Field(
        default=COMMON_CRAWL,
        description="https://, s3://bucket/ or a folder with `crawl-data/` in it",
    )
    files: Files | None = Field(
        default=None,
        description="files per crawl; a larger number includes the smaller one",
    )
    files_of: dict[str, Files] = Field(default={}, description="the same for single snapshots")
    robots: bool = Field(
        default=False, description="also pin the robots.txt records of these files"
    )
    index: IndexSettings | None = Field(
        default=None, description="use the columnar URL index; `true` for its defaults"
    )
    follow_after: str | None = Field(
        default=None,
        description="a crawl; the weekly schedule adds crawls newer than it and than the newest "
        "of the source",
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

    def identity(self) -> dict[str, Any]:
        body = self.model_dump(mode="json", include={"files", "files_of", "robots"})
        body["index"] = None if self.index is None else self.index.identity()
        return body

    def number_of_files(self, snapshot: str) -> int | None:
        """How many files of a snapshot are used; None: all."""
        return self.files_of.get(snapshot, self.files)
