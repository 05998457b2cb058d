"""Every error that this package raises on purpose.

    PageblocksError     something that the caller can act on
    +-- NotText         the bytes of a page are text in no charset
    +-- ModelError      a model file is missing, unreadable, or made for other features
    +-- TruthError      pages to train or measure on cannot be used

Each message says what happened and what to do next, on one line.
"""


class PageblocksError(Exception):
    """Base of all errors that are meant to be read by the person calling."""


class NotText(PageblocksError):
    """The bytes of a page are no text."""


class ModelError(PageblocksError):
    """A model cannot be used."""


class TruthError(PageblocksError):
    """Pages with their main text, or what they are made from, cannot be used."""
