"""What a takedown did to clusters and families, counted from the versions before and after."""

from collections import Counter
from collections.abc import Sequence

from corpus_assets_tests.promises.erasure.random_corpus import RandomCorpus
from corpus_assets_tests.promises.erasure.requests import Asked
from corpus_assets_tests.promises.erasure.state import State

HOT = 6  # members of a cluster whose buckets count as hot

MUST_OCCUR = (
    "removed",
    "promoted",
    "promoted_across_snapshots",
    "demoted",
    "clusters_split",
    "bridges_removed",
    "star_centres_removed",
    "chain_links_removed",
    "hot_centres_removed",
    "descendants_removed",
    "descendants_of_several_removed",
    "near_duplicates_asked",
    "untouched_shards",
    "rewritten_shards",
    "emptied_parts",
    "rearranged",
    "purged",
    "killed",
    "withdrawn",
    "collected",
)
"""A run in which one of these never came up tested less than it says."""


def tally(
    corpus: RandomCorpus, before: State, after: State, asked: Sequence[Asked]
) -> Counter[str]:
    """Counts under the names of `MUST_OCCUR`, as far as one case can tell."""
    gone = after.gone - before.gone
    home = {row["doc_id"]: row["snapshot"] for row in before.records}
    stood_for = {row["doc_id"]: row["kept_doc_id"] for row in before.members}
    promoted = after.kept - before.kept
    split = _split(before, after)
    roles = {
        row["doc_id"]: (page.plant, page.role)
        for page, row in zip(corpus.pages, before.records, strict=True)
    }
    turned = Counter(
        roles[row["doc_id"]]
        for key, rows in before.clusters().items()
        if key in split
        for row in rows
        if row["doc_id"] in gone
    )
    families = [row["derived_from"] for doc_id, row in before.texts.items() if doc_id in gone]
    named = {doc_id for one in asked for doc_id in one.named}
    keys = {row["url_key"] for row in before.records if row["doc_id"] in named}
    followed = [parents for parents in families if keys.intersection(parents or ())]
    same = sum(before.shards.get(name) == held for name, held in after.shards.items())
    return Counter(
        removed=len(gone),
        promoted=len(promoted),
        promoted_across_snapshots=sum(
            stood_for.get(doc_id) in gone and home[stood_for[doc_id]] != home[doc_id]
            for doc_id in promoted
        ),
        demoted=len(before.kept - after.kept - gone),
        clusters_split=len(split),
        bridges_removed=turned["bridge", "bridge"],
        star_centres_removed=turned["star", "centre"],
        chain_links_removed=turned["chain", "link"],
        hot_centres_removed=sum(
            first in gone and len(rows) >= HOT for (_, first), rows in before.clusters().items()
        ),
        descendants_removed=len(followed),
        descendants_of_several_removed=sum(len(parents) > 1 for parents in followed),
        near_duplicates_asked=sum(one.near for one in asked),
        untouched_shards=same,
        rewritten_shards=len(after.shards) - same,
        emptied_parts=len(_parts(before) - _parts(after)),
    )


def _split(before: State, after: State) -> set[tuple[str, bytes]]:
    """Clusters whose survivors are no longer in one."""
    now = {(row["snapshot"], row["doc_id"]): row["cluster_id"] for row in after.members}
    split = set()
    for (snapshot, first), rows in before.clusters().items():
        left = {row["doc_id"] for row in rows} - after.gone
        if len({now.get((snapshot, doc_id), doc_id) for doc_id in left}) > 1:
            split.add((snapshot, first))
    return split


def _parts(state: State) -> set[tuple[str, int]]:
    """Parts with a living document."""
    return {(row["snapshot"], row["part"]) for row in state.records if row["reason"] is None}
