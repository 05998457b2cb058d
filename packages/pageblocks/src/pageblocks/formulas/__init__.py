"""Formulas of a page as TeX, from whatever form its markup has."""

from pageblocks.formulas.bars import without_bars
from pageblocks.formulas.sources import write_formulas

__all__ = ["without_bars", "write_formulas"]
