"""What a recipe says of gates: which records may pass."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from corpus_assets.core.identity import Settings, is_absent
from corpus_assets.core.model_choice import INSTALLED
from corpus_assets.ingest.gates.ai_agents import checked_token, training_agents


def checked_category(name: str) -> str:
    """Return the name of a category, by which pages are dropped; ValueError for what is no name."""
    if not name or "/" in name or name.startswith("."):
        raise ValueError(f"category {name!r}: write a plain name, such as adult")
    return name


Categories = Annotated[
    dict[Annotated[str, AfterValidator(checked_category)], str], Field(max_length=255)
]
"""Categories of pages to leave out, each with its folder in UT1's layout, or a file of entries."""


class CodeSettings(Settings):
    """Which source files are let in."""

    languages: tuple[str, ...] | None = Field(default=None, description="languages to keep")
    vendored: tuple[str, ...] = Field(
        default=(
            "vendor", "vendored", "third_party", "third-party", "thirdparty", "node_modules",
            "bower_components", "site-packages", "Godeps", "Pods", "Carthage", "external_libs",
            "deps/*/src", ".git",
        ),
        description="folder names, or patterns for paths, with code of other projects",
    )  # fmt: skip


class UrlWords(Settings):
    """Words, enough of which in an address block a page."""

    name: str = Field(min_length=1, description="name of the list")
    words: tuple[str, ...] = Field(
        default=(),
        description="words of any script, case-insensitive; `model://NAME`: those of an "
        "installed list",
    )
    inside_words_without: str | None = Field(
        default=None,
        description="also match inside longer words, once these characters (such as `-.`) are "
        "removed from the URL; null: whole words only",
    )
    min_words: int = Field(
        default=1, ge=1, description="number of different words that block a page"
    )

    @property
    def lists(self) -> tuple[str, ...]:
        """Installed lists whose words count too."""
        return tuple(word for word in self.words if word.startswith(INSTALLED))

    def with_words(self, entries: Iterable[str]) -> Self:
        """Return the rule with the entries of its lists in place of their names."""
        from corpus_assets.ingest.gates.readable_words import checked_word

        found = [word for word in self.words if not word.startswith(INSTALLED)]
        for entry in entries:
            with suppress(ValueError):
                if not set(word := checked_word(entry)) & set(self.inside_words_without or ""):
                    found.append(word)
        return self.model_copy(update={"words": tuple(dict.fromkeys(found))})

    @model_validator(mode="after")
    def _can_be_found(self) -> Self:
        own = [word for word in self.words if not word.startswith(INSTALLED)]
        if own:
            from corpus_assets.ingest.gates.readable_words import checked_word
        for word in own:
            if set(checked_word(word)) & set(self.inside_words_without or ""):
                raise ValueError(
                    f"{word!r} contains a character of inside_words_without; remove it"
                )
        return self


class RobotsSettings(Settings):
    """Whose robots.txt rules are honoured, by RFC 9309. Needs `site_files` of the source, or the
    robots.txt records of its crawl."""

    agents: tuple[str, ...] = Field(
        min_length=1,
        description="product tokens, such as GPTBot; a page disallowed for any of them is dropped",
    )
    missing: Literal["allow", "refuse"] = Field(
        default="allow", description="decision for hosts without a known robots.txt"
    )

    @field_validator("agents")
    @classmethod
    def _tokens(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(checked_token(agent) for agent in value)


class OptOutSettings(Settings):
    """Which signals are honoured."""

    on_disallow: Literal["drop", "record"] = Field(
        default="drop",
        description="`drop` pages that are not for training by these signals, `Content-Usage` "
        "or `Content-Signal`, or only `record` it as `preference`",
    )
    directives: tuple[str, ...] = Field(
        default=("noai",),
        description="directives of `X-Robots-Tag` and of robots `<meta>` tags; `none` counts as "
        "`noindex`",
    )
    agents: tuple[str, ...] = Field(
        default_factory=training_agents,
        description="product tokens of training agents, whose own directives count",
    )

    @field_validator("agents")
    @classmethod
    def _tokens(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(checked_token(agent) for agent in value)


class LanguageGateSettings(Settings):
    """What a page's roughly stripped text must be for the page to be extracted.

    Keep `min_score` far below the recipe's own threshold: menus in another language lower it.
    """

    languages: tuple[str, ...] = Field(
        default=(), description="language codes; empty: any language passes"
    )
    min_score: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="score that one of them must reach among the likeliest three",
    )
    min_chars: int = Field(default=0, ge=0, description="characters other than white space")
    sample_share: float = Field(
        default=0.01,
        ge=0,
        le=1,
        description="share of refused pages to extract anyway, to find false drops",
    )


class GateSettings(Settings):
    """What may pass."""

    sample_share: float | None = Field(
        default=None,
        gt=0,
        le=1,
        exclude_if=is_absent,
        description="share of records to take, drawn by their ids, for a quick look; null: all",
    )
    blocked_url_words: tuple[UrlWords, ...] = Field(
        default=(), description="word lists that block a page by its decoded URL"
    )
    max_bytes: int = Field(default=2_000_000, ge=1)
    allowed_licences: tuple[str, ...] | None = Field(
        default=None,
        description="SPDX ids that pass, also as parts of expressions, and `unknown` for records "
        "without a licence",
    )
    robots: RobotsSettings | None = Field(default=None, description="robots.txt as of the crawl")
    optout: OptOutSettings = Field(default_factory=OptOutSettings)
    language_gate: LanguageGateSettings | None = Field(
        default=None, description="a cheap check of language and length before extraction"
    )
