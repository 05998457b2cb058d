"""The recipe: what a corpus is.

Each stage declares its own settings; the recipe only puts them together. `recipe.load` reads one
from its file.
"""

from collections.abc import Iterable, Set
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from catalog.figures import counted
from corpus_assets.clean import CleanTextSettings
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Name, Settings, digest, is_absent
from corpus_assets.core.model_choice import Model, ModelChoice, installed_part
from corpus_assets.decontam import ContaminationSettings, EvalSuite
from corpus_assets.dedup import ClusterSettings, SignatureSettings
from corpus_assets.ingest import Categories, IngestSettings, SourceEntry
from corpus_assets.recipe.evidence import EvidenceSettings
from corpus_assets.recipe.operations import (
    DriftSettings,
    ReleaseGateSettings,
    Retention,
    TakedownSettings,
)
from corpus_assets.select import SINGLE_TIER, Bounds, GroupBy, SelectionSettings, group_values
from corpus_assets.shards import (
    NARROW_IDS,
    FillInTheMiddle,
    MixedGroup,
    MixtureSettings,
    PackSettings,
)
from corpus_assets.signals import (
    ClassifierEntry,
    EmbeddingScore,
    Imported,
    ModelName,
    PageNotes,
    PerplexityModelEntry,
    SignalFamily,
    SignalSettings,
    SourceLabels,
    check_classifiers,
    check_models,
)
from corpus_assets.signals import Name as ClassifierName
from corpus_assets.tokenizer import TokenizerEntry

if TYPE_CHECKING:
    from corpus_loader.manifest import Group

DroppingAsset = Literal["documents", "selection", "clusters", "contamination", "clean_text"]


ALL = "all"  # every fallback of a recipe
USE_FALLBACKS = "use_fallbacks"


class Fallback(Settings):
    """What a recipe does without some of its models, where the user asks for it."""

    instead_of: tuple[str, ...] = Field(min_length=1, description="names of the models to replace")
    changes: dict[str, Any] = Field(
        min_length=1,
        description="dotted recipe keys and their values, as with `--set`",
    )


class ShardSettings(PackSettings):
    tokens_per_shard: int = Field(default=100_000_000, ge=1024)
    dtype: Literal["int32", "uint16", "auto"] = Field(
        default="int32",
        exclude_if=lambda dtype: dtype == "int32",
        description="type of token ids; `uint16` needs a vocabulary of at most 65,536, `auto` uses "
        "it if possible",
    )
    group_by: GroupBy = Field(
        default={},
        exclude_if=is_absent,
        description="signals that divide groups: a list of labels, value -> labels, or bin -> "
        "smallest number in it; the rest is `other`",
    )

    repositories: dict[str, Annotated[int, Field(ge=1, le=8)]] = Field(
        default={},
        exclude_if=is_absent,
        description="domain -> leading parts of a record's key that name its repository, whose "
        "files are joined, imported ones first",
    )
    fill_in_the_middle: FillInTheMiddle | None = Field(
        default=None,
        exclude_if=is_absent,
        description="rearrange a share of documents for filling in the middle",
    )

    @property
    def pack(self) -> PackSettings:
        """What laying documents into samples asks."""
        return PackSettings(seq_len=self.seq_len, packing=self.packing)


SHOWN_FILES = 5


class Recipe(Settings):
    """What a corpus is. Field order is the order of the graph."""

    name: Name
    seed: int = Field(ge=0, lt=2**63)
    sources: tuple[SourceEntry, ...] = Field(min_length=1)
    snapshot_order: tuple[Name, ...] = Field(
        default=(),
        exclude_if=is_absent,
        description="snapshots that come first in deduplication, in this order; the others follow in "
        "the order of the sources",
    )
    calibrate_on: tuple[str, ...] | None = None  # snapshots that cutoffs and tokenizer learn from
    blocklists: tuple[str, ...] = ()
    blocked_categories: Categories = Field(
        default={},
        description="page categories to drop: name -> folder in UT1's layout (`domains`, "
        "`urls`), file of hosts and URLs, or `model://NAME`",
    )
    documents: IngestSettings = Field(default_factory=IngestSettings)
    language_model: Model = ModelChoice(name="lid.176")
    classifiers: dict[ClassifierName, ClassifierEntry] = Field(
        default={}, description="models that score documents, by name"
    )
    perplexity: dict[ModelName, PerplexityModelEntry] = Field(
        default={}, description="language models for perplexity, by name"
    )
    signals: SignalSettings
    selection: SelectionSettings
    signatures: SignatureSettings = SignatureSettings()
    clusters: ClusterSettings = ClusterSettings()
    eval_suites: tuple[str | EvalSuite, ...] = ()
    contamination: ContaminationSettings = ContaminationSettings()
    clean_text: CleanTextSettings = CleanTextSettings()
    tokenizer: TokenizerEntry
    shards: ShardSettings = ShardSettings()
    mixture: MixtureSettings = MixtureSettings()
    panels: tuple[str, ...] = Field(
        default=(),
        description="panels for the report, `NAME.sql` and `NAME.html`",
    )
    survival: dict[DroppingAsset, Bounds] = Field(
        default={},
        description="by stage: shares of surviving documents, 0 to 1, outside which a check warns",
    )
    drift: DriftSettings = DriftSettings()
    gate: ReleaseGateSettings = Field(
        default=ReleaseGateSettings(),
        description="conditions for releasing a candidate",
    )
    evidence: EvidenceSettings | None = Field(
        default=None, description="comparison with small models"
    )
    takedowns: TakedownSettings = Field(
        default=TakedownSettings(),
        description="when takedowns run",
    )
    retention: Retention = Field(
        default="all",
        description="what `corpus gc` leaves of live versions: `all` results; `takedowns`: not what "
        "only calibrations read; `published`: only what versions name, the rest is computed again",
    )
    fallbacks: dict[Name, Fallback] = Field(
        default={}, description="replacements for missing models, by name, used only on request"
    )
    use_fallbacks: tuple[str, ...] = Field(
        default=(), description="fallbacks to use; `[all]`, or `--fallbacks`: all of them"
    )

    @field_validator("signals")
    @classmethod
    def _read_as_classifiers_say(
        cls, value: SignalSettings, info: ValidationInfo
    ) -> SignalSettings:
        return value.with_readings(info.data.get("classifiers", {}))

    @model_validator(mode="after")
    def _consistent(self) -> "Recipe":
        names = [name for source in self.sources for name in source.snapshots]
        for what, listed in (("source", [s.name for s in self.sources]), ("snapshot", names)):
            twice = sorted({name for name in listed if listed.count(name) > 1})
            if twice:
                raise ValueError(f"sources: duplicate {what} {twice[0]}; rename one")
        if strange := sorted(set(self.snapshot_order) - set(names)):
            raise ValueError(
                f"snapshot_order names the unknown snapshot {strange[0]}; known: {', '.join(names)}"
            )
        for name in set(self.use_fallbacks) - set(self.fallbacks):
            raise ValueError(
                f"use_fallbacks: the recipe has no fallback {name}; known: "
                f"{', '.join(self.fallbacks) or 'none'}"
            )
        if self.calibrate_on == ():
            raise ValueError("calibrate_on is empty; name a snapshot, or leave it out to use all")
        unknown = set(self.calibrate_on or ()) - set(names)
        if unknown:
            raise ValueError(
                f"calibrate_on names the unknown snapshot {sorted(unknown)[0]}; "
                f"known: {', '.join(names)}"
            )
        for source in self.sources if self.documents.gates.robots is not None else ():
            unknown_robots = source.without_robots()
            if unknown_robots:
                raise ValueError(
                    f"documents.gates.robots: {unknown_robots} has no robots.txt; set "
                    "`site_files` of the source, or pin those of its crawl (`crawl.robots`)"
                )
        domains = {source.domain for source in self.sources}
        self.tokenizer.sample.check_domains(domains)
        drawn_by, signals = self.tokenizer.sample, self.signals.columns()
        if (drawn_by.languages or drawn_by.language_shares) and "language" not in signals:
            raise ValueError(
                "tokenizer.sample: documents are drawn by language, and no signal family gives "
                "it; add `{family: language}` to signals.families"
            )
        trained = self.tokenizer.train
        if self.shards.dtype == "uint16" and trained and trained.max_ids > NARROW_IDS:
            raise ValueError(
                f"shards.dtype: a vocabulary of up to {trained.max_ids} ids does not fit uint16; use "
                "int32 or auto"
            )
        self._check_markers(domains)
        self.mixture.check_held_back(bool(self.training_benchmarks))
        self.mixture.check(self._axes())
        scoring = [need for family in self.scoring_families() for need in family.needs()]
        check_classifiers(self.classifiers, scoring, names)
        check_models(self.perplexity, self.signals.needs())
        self._check_conditions()
        self._check_labels()
        return self

    @field_validator("survival")
    @classmethod
    def _are_shares(cls, value: dict[DroppingAsset, Bounds]) -> dict[DroppingAsset, Bounds]:
        for asset, bounds in value.items():
            for end in (bounds.min, bounds.max):
                if end is not None and not 0 <= end <= 1:
                    raise ValueError(f"{asset}: {end:g} is not a share; write one from 0 to 1")
        return value

    def _check_markers(self, domains: Set[str]) -> None:
        cut, joined = self.shards.fill_in_the_middle, self.shards.repositories
        if cut is None and not joined:
            return
        from catalog.formats.token_order import MARKER_NAMES, SEPARATORS  # loads numpy

        for key, named, needed in (
            ("fill_in_the_middle", (cut and cut.domains) or (), MARKER_NAMES if cut else ()),
            ("repositories", joined, SEPARATORS[:1] if joined else ()),
        ):
            if unknown := sorted(set(named) - domains):
                raise ValueError(
                    f"shards.{key}: no source has domain {unknown[0]!r}; known: "
                    f"{', '.join(sorted(domains))}"
                )
            trained = self.tokenizer.train
            missing = [name for name in needed if trained and name not in trained.special_tokens]
            if missing:
                raise ValueError(
                    f"shards.{key}: tokenizer.train.special_tokens lacks {', '.join(missing)}; "
                    "name them there"
                )

    def _check_labels(self) -> None:
        """Refuse labels that no source gives, and an import that is not named by its digest."""
        for family in self.signals.families:
            if isinstance(family, Imported) and not (family.sha256 and family.columns()):
                raise ValueError(
                    f"signals.families ({family.name}): an import needs `sha256` and `columns`: "
                    "write the line that `corpus signals import` prints"
                )
            for kind in ("labels", "scores") if isinstance(family, SourceLabels) else ():
                given = {name for source in self.sources for name in getattr(source.fields, kind)}
                unknown = sorted(set(getattr(family, kind)) - given)
                if unknown:
                    raise ValueError(
                        f"signals.families (source_labels): no source has {unknown[0]!r} under "
                        f"`fields.{kind}`; known: {', '.join(sorted(given)) or 'none'}"
                    )
            if isinstance(family, PageNotes) and not self.documents.extraction.page_type:
                raise ValueError(
                    "signals.families (page_notes): page types are not recorded; set "
                    "documents.extraction.page_type: true"
                )

    def _axes(self) -> dict[str, tuple[str, ...]]:
        """Return the values of each axis that divides groups."""
        tiers = dict.fromkeys(tier for tiers in self._tiers().values() for tier in tiers)
        own = {
            "domain": tuple(dict.fromkeys(source.domain for source in self.sources)),
            "source": tuple(source.name for source in self.sources),
            "tier": tuple(tiers),
        }
        if self.clean_text.tiers_by_copies:
            own["copies"] = tuple(map(str, self.clean_text.tiers_by_copies))
        return own | group_values(self.shards.group_by)

    def _check_conditions(self) -> None:
        known = sorted({tier for tiers in self._tiers().values() for tier in tiers})
        for rule in self.selection.rules:
            asked = rule.where.tier if rule.where is not None else None
            for tier in asked or ():
                if tier not in known:
                    raise ValueError(
                        f"selection.rules.{rule.name}.where: no tier is named {tier!r}; they are "
                        f"{', '.join(known)}"
                    )

    def _tiers(self) -> dict[str, tuple[str, ...]]:
        """Tiers that documents can be in, by who puts them there."""
        given = {name: source.tier_of(name) for source in self.sources for name in source.snapshots}
        found: dict[str, tuple[str, ...]] = {
            f"snapshot {name}": (tier,) for name, tier in given.items() if tier is not None
        }
        if None in given.values():
            graded = self.selection.tiers
            return found | {"the selection": graded.all_names if graded else (SINGLE_TIER,)}
        if self.selection.tiers is not None:
            raise ValueError("selection.tiers grades nothing: every source says its `tier` itself")
        return found

    @property
    def snapshots(self) -> tuple[str, ...]:
        """All snapshot names in the order of their ranks in deduplication."""
        listed = (name for source in self.sources for name in source.snapshots)
        return tuple(dict.fromkeys((*self.snapshot_order, *listed)))

    @property
    def has_labels(self) -> bool:
        """Whether groups are divided by more than snapshot, domain and tier."""
        return bool(
            self.shards.group_by or self.clean_text.tiers_by_copies or self.training_benchmarks
        )

    @property
    def training_benchmarks(self) -> tuple[str, ...]:
        """Benchmarks whose items hold documents back from some phases."""
        return tuple(
            suite.benchmark for suite in self.suites if suite.split == "train" and suite.benchmark
        )

    @property
    def suites(self) -> tuple[EvalSuite, ...]:
        """The evaluation suites; a bare path is one in the plain form."""
        return tuple(
            EvalSuite(files=(suite,)) if isinstance(suite, str) else suite
            for suite in self.eval_suites
        )

    @property
    def calibration_snapshots(self) -> tuple[str, ...]:
        return self.snapshots if self.calibrate_on is None else self.calibrate_on

    def source_of(self, snapshot: str) -> SourceEntry:
        for source in self.sources:
            if snapshot in source.snapshots:
                return source
        raise RecipeError(
            f"recipe {self.name} has no snapshot {snapshot!r}; known: {', '.join(self.snapshots)}"
        )

    def mixed_groups(self, groups: Iterable["Group"]) -> list[MixedGroup]:
        """Return the groups of a manifest as the mixture sees them: each with its source."""
        return [
            MixedGroup(
                id=group.id,
                source=self.source_of(group.snapshot).name,
                domain=group.domain,
                tier=group.tier,
                samples=group.samples,
                tokens=group.tokens,
                labels=group.labels,
            )
            for group in groups
        ]

    def named_models(self) -> list[tuple[str, str]]:
        """Return the models and lists that settings take by name: (setting, name)."""
        found: list[tuple[str, ModelChoice | None]] = [("language_model", self.language_model)]
        found.append(("documents.extraction.model", self.documents.extraction.model))
        found += [(f"classifiers.{name}", each.model) for name, each in self.classifiers.items()]
        for name, entry in self.perplexity.items():
            setting = f"perplexity.{name}"
            found += [(setting, entry.model), (setting, entry.pieces)]
        found += [
            ("signals.families", family.model)
            for family in self.signals.families
            if isinstance(family, EmbeddingScore)
        ]
        if self.suites and self.contamination.paraphrases is not None:
            found.append(("contamination.paraphrases", self.contamination.paraphrases.model))
        models = [(setting, model.name) for setting, model in found if model and model.name]
        lists = ((setting, installed_part(place)[0]) for setting, place in self.listed_files())
        return models + [(setting, name) for setting, name in lists if name]

    def listed_files(self) -> list[tuple[str, str]]:
        """Return the files and folders of all lists that rules look something up in: (setting,
        location)."""
        found = [("blocklists", place) for place in self.blocklists]
        found += [
            (f"blocked_categories.{n}", place) for n, place in self.blocked_categories.items()
        ]
        for rule in self.documents.gates.blocked_url_words:
            setting = f"documents.gates.blocked_url_words.{rule.name}"
            found += [(setting, place) for place in rule.lists]
        for family in self.signals.families:
            found += [(f"signals.families.{family.family}", place) for place in family.files()]
        return found

    def empty_lists(self) -> list[str]:
        """Return the settings that switch on a search for what a list has, without a list."""
        words = [
            f"documents.gates.blocked_url_words.{rule.name}"
            for rule in self.documents.gates.blocked_url_words
            if not rule.words
        ]
        return words + [
            f"signals.families.{family.family}"
            for family in self.signals.families
            if family.looks_for_nothing()
        ]

    def scoring_families(self) -> tuple[SignalFamily, ...]:
        """Return the families that score documents, and those that score sentences."""
        sentences = (cut.family(self.classifiers) for cut in self.clean_text.sentences)
        return (*self.signals.families, *sentences)

    def fallbacks_in_use(self) -> dict[str, str]:
        """Return the fallbacks that take the place of models, each with what they stand in for."""
        return {name: ", ".join(self.fallbacks[name].instead_of) for name in self.use_fallbacks}

    @property
    def skipped_files(self) -> list[str]:
        """Name the files of sources that are skipped, each with its snapshot."""
        return [
            f"{snapshot} {name}"
            for source in self.sources
            for snapshot, names in source.skip_files.items()
            for name in names
        ]

    def caveats(self) -> list[str]:
        """Say for people what is not the real thing, and what is left out."""
        lines = [
            f"fallback: {name} replaces {models}; this is not the published recipe"
            for name, models in self.fallbacks_in_use().items()
        ]
        if share := self.documents.gates.sample_share:
            lines.append(f"sample: {share:.3g} of the records; duplicates outside of it are unseen")
        if skipped := self.skipped_files:
            named = ", ".join(skipped[:SHOWN_FILES]) + (", ..." * (len(skipped) > SHOWN_FILES))
            lines.append(f"skipped: {counted(len(skipped), 'source file')} ({named})")
        return lines

    def or_fallback(self, models: Iterable[str]) -> str:
        """Say, where absent models have fallbacks, how to build with those."""
        replaced = {model for each in self.fallbacks.values() for model in each.instead_of}
        found = replaced & set(models)
        if not found:
            return ""
        which = "fallback for it" if len(found) == 1 else "fallbacks for them"
        return f"; or add `--fallbacks` to build with the recipe's {which}"

    def identity(self) -> dict[str, Any]:
        body = super().identity()
        del body["fallbacks"], body["use_fallbacks"]  # what they change is in its place
        if self.use_fallbacks:
            body["fallbacks"] = self.fallbacks_in_use()
        del body["panels"]  # they show what came out
        del body["drift"]  # it judges what comes out, and changes nothing of it
        del body["gate"], body["evidence"]  # as `drift`
        del body["takedowns"]  # when they are carried out, not what comes out
        del body["retention"]  # what is left of it afterwards
        body["tokenizer"] = self.tokenizer.identity()
        body["sources"] = [source.identity() for source in self.sources]
        body["documents"] = self.documents.identity()
        body["classifiers"] = {name: entry.identity() for name, entry in self.classifiers.items()}
        body["language_model"] = self.language_model.identity()
        body["eval_suites"] = [suite.identity() for suite in self.suites]  # not where they lie
        body["contamination"] = self.contamination.identity()
        body["clean_text"] = self.clean_text.identity()
        body["clean_text"]["text_hashes"] = [e.form for e in self.clean_text.text_hashes]
        for entry, family in zip(body["signals"]["families"], self.signals.families, strict=True):
            if isinstance(family, EmbeddingScore):
                entry["model"] = family.model.identity()
        body["perplexity"] = {name: entry.identity() for name, entry in self.perplexity.items()}
        body["blocked_categories"] = list(self.blocked_categories)  # not where the lists lie
        return body

    @property
    def digest(self) -> str:
        """Identity of the recipe: its settings, wherever its files lie."""
        body = self.identity()
        for source in body["sources"]:
            source["snapshots"] = list(source["snapshots"])
        body["blocklists"] = len(body["blocklists"])
        return digest(body)
