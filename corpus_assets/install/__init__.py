"""Models and lists that a recipe names, brought here from where their authors publish them."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.install.bundle import pack_models, unpack_models
    from corpus_assets.install.fetch import fetch_model, fetch_url
    from corpus_assets.install.pinned import ModelPins
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "ModelPins",
    "fetch_model",
    "fetch_url",
    "pack_models",
    "unpack_models",
]
