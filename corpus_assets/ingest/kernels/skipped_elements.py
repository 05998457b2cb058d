"""Elements that resiliparse leaves out of a text, with all that is in them, by these settings:
no alternative texts, no form fields, no `noscript`.

It looks for them with a selector that has an entry for each, tried on every element of a page,
and one of them ("embedimg", a slip of its own) is not even a name that the parser knows. Where it
is told which of them a page has at all, and nothing of the others, the text is the same and a
tenth of the time is saved: so `trim_markup` notes which it met.

Nothing is imported here, since the process that extracts needs the names and no kernel.
"""

SKIPPED = (
    "area", "audio", "button", "embedimg", "figcaption", "figure", "input", "label", "noscript",
    "object", "option", "select", "svg", "textarea", "video",
)  # fmt: skip
ANY_SKIPPED = (1 << len(SKIPPED)) - 1
"""All of them may be there, one bit each."""


def names_in(skipped: int) -> list[str]:
    """The names whose bits are set."""
    return [name for place, name in enumerate(SKIPPED) if skipped >> place & 1]
