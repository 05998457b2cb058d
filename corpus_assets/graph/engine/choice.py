"""Which engine a command uses: by its options, else by the environment."""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from corpus_assets.core.errors import EngineError
from corpus_assets.graph.engine.base import Engine, FunctionOf
from corpus_assets.graph.engine.local import LocalEngine

LOCAL, RAY = "local", "ray"


@dataclass(frozen=True)
class EngineChoice:
    """`workers` 0: one a core of this machine, or all that the cluster has."""

    name: str = LOCAL
    workers: int = 0
    ray_address: str | None = None

    @classmethod
    def resolve(
        cls,
        name: str | None = None,
        workers: int | None = None,
        ray_address: str | None = None,
        local_workers: int = 0,
    ) -> "EngineChoice":
        """What is not given is CORPUS_ENGINE, CORPUS_RAY_ADDRESS and, of processes on this machine,
        `local_workers`; an address alone means Ray."""
        address = ray_address or os.environ.get("CORPUS_RAY_ADDRESS") or None
        chosen = name or os.environ.get("CORPUS_ENGINE") or (RAY if ray_address else LOCAL)
        if chosen not in (LOCAL, RAY):
            raise EngineError(f"there is no engine {chosen}; choose {LOCAL} or {RAY}")
        if ray_address and chosen == LOCAL:
            raise EngineError("--ray-address is for the engine ray: leave it out, or --engine ray")
        if chosen == LOCAL:
            return cls(LOCAL, workers or local_workers)
        return cls(RAY, workers or 0, address)

    @property
    def is_ray(self) -> bool:
        return self.name == RAY

    @contextlib.contextmanager
    def opened(
        self, store_url: str, function_of: FunctionOf, tell: Callable[[str], None] = lambda _: None
    ) -> Iterator[Engine]:
        """Give the engine; its workers end with it. `tell` hears what a person should know."""
        engine: Engine
        if self.is_ray:
            from corpus_assets.graph.engine.ray import RayEngine

            engine = RayEngine(store_url, function_of, self.workers, self.ray_address, tell)
        else:
            engine = LocalEngine(store_url, function_of, self.workers or os.cpu_count() or 1)
        try:
            yield engine
        finally:
            engine.close()
