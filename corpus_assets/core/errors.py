"""Every error this project raises on purpose.

    CorpusError                 something the person running us can act on
    +-- RecipeError             a recipe or lock says something that makes no sense
    +-- SourceError             a source file is missing, unreadable or not what it claims
    |   +-- AbsentSource        there is no such file, here or on its server
    |   +-- ChangedSource       its server has another file there than before
    +-- StoreError              the store cannot be read or written
    |   +-- StoreAway           the store's server does not answer, or refuses for now
    |   +-- CorruptArtifact     bytes in the store do not match their recorded hash
    |   +-- DriftError          one fingerprint, two contents: a stage changed without its version
    +-- MissingInput            a stage was asked to run before what it reads exists
    +-- ModelError              a model file is missing, unreadable or has the wrong digest
    +-- EngineError             a worker died or a task could not be run
    |   +-- NodeLost            the machine that ran a task is gone
    |   +-- OtherCode           a machine has other code than the one that plans, or none
    +-- ShardError              a shard, manifest or loader request is invalid
    +-- MissingExtra            an optional dependency is needed and not installed
    +-- EvidenceError           a plan, held-out set, pack or result of evidence cannot be used

Each message says what happened, what it means and what to do next, on one line.
"""


class CorpusError(Exception):
    """Base of all errors that are meant to be read by the person running the job."""


class RecipeError(CorpusError):
    """The recipe or lock file is wrong; the message names file, key and expectation."""


class SourceError(CorpusError):
    """A source file cannot be used."""


class AbsentSource(SourceError):
    """There is no such source file."""


class ChangedSource(SourceError):
    """A source file is another than the one that was seen before."""


class StoreError(CorpusError):
    """The store refused a read or a write (full disk, permissions, network)."""


class StoreAway(StoreError):
    """The store's server could not be used after several tries; a later one may succeed."""


class CorruptArtifact(StoreError):
    """Stored bytes differ from their recorded content hash."""


class DriftError(StoreError):
    """The same fingerprint produced different bytes."""


class MissingInput(CorpusError):
    """An upstream stage has not been materialized yet."""


class ModelError(CorpusError):
    """A model file cannot be used."""


class EngineError(CorpusError):
    """A task could not be executed."""


class NodeLost(EngineError):
    """A machine of the cluster went away under a task; another one may run it."""


class OtherCode(EngineError):
    """A machine of the cluster would run other code than the build's; `node` is its id in the
    cluster, where that is known."""

    node: str = ""


class ShardError(CorpusError):
    """A shard, manifest or position is invalid."""


class MissingExtra(CorpusError):
    """An optional dependency is absent."""


class EvidenceError(CorpusError):
    """A plan, held-out set, pack or result of training runs cannot be used."""
