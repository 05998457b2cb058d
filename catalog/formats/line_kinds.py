"""What a line of a text is, as a small number: the values of the column `line_kinds`.

A text has as many lines as it has line breaks, and one more; blank ones count, so that a number of
a line is a place in the column. Files hold these numbers: new kinds come last.
"""

LINE_KINDS = (
    "unknown",  # the extractor does not say
    "other",  # a blank line, or one that is none of these
    "paragraph",
    "heading_1",
    "heading_2",
    "heading_3",
    "heading_4",
    "heading_5",
    "heading_6",
    "list_item",
    "code",
    "table_row",
    "quotation",
    "caption",
    "formula",
    "post",  # the first line of a post or comment
)
"""Names of the numbers."""

LINE_KIND = {name: number for number, name in enumerate(LINE_KINDS)}
"""Numbers of the names."""
