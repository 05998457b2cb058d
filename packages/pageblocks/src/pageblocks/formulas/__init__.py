"""Formulas of a page as TeX, from whatever form its markup has."""

from pageblocks.formulas.sources import write_formulas

__all__ = ["write_formulas"]
