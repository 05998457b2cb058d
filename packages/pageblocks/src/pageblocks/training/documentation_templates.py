"""Where generators of documentation put the main content.

The table of templates says, by what a page shows of its generator, which element holds the main
content and what inside of it is not part of it. It is for making truth sets only; no page is
extracted by it.
"""

from lxml import etree, html

from pageblocks.kernels.page_names import BREAKING

TEMPLATES: tuple[tuple[str, str, str], ...] = (
    # what the page shows, main content, what is no part of it
    ("//main[@id='main-content' or contains(@class, 'bd-main')]//article",
     "//main//article", ".//*[contains(@class, 'headerlink')]"),
    ("//*[@role='main']", "//*[@role='main']",
     ".//*[contains(@class, 'headerlink') or @role='navigation' or self::footer or "
     "contains(@class, 'toctree-wrapper') or contains(@class, 'sub-nav') or self::nav]"),
    ("//meta[@name='generator' and contains(@content, 'rustdoc')]",
     "//section[@id='main-content']",
     ".//*[contains(@class, 'src') or contains(@class, 'out-of-band') or self::button]"),
    ("//meta[@name='generator' and contains(@content, 'Doxygen')]",
     "//div[@class='contents'] | //div[@class='headertitle']", ".//*[contains(@class, 'dynheader')]"),
    ("//meta[@name='generator' and contains(@content, 'MediaWiki')]",
     "//h1[@id='firstHeading'] | //div[@id='mw-content-text']",
     ".//*[contains(@class, 't-navbar') or contains(@class, 'editsection') or @id='toc']"),
    ("//meta[@name='generator' and contains(@content, 'DocBook')]", "//body",
     ".//*[@class='navheader' or @class='navfooter' or @class='toc']"),
    ("//*[@id='DisplayArea']", "//*[@id='DisplayArea']",
     ".//*[contains(@class, 'howtoget') or @id='DonationFrame']"),
    ("//body[@id='manual-page']", "//*[@id='page-content']",
     ".//*[@class='toplang' or @class='bottomlang' or @id='quickview' or @class='top']"),
    ("//meta[@name='generator' and contains(@content, 'AsciiDoc')]",
     "//div[@id='header'] | //div[@id='content']", ".//*[@id='toc']"),
    ("//*[@id='apicontent']", "//*[@id='apicontent']", ".//*[contains(@class, 'mark')]"),
    ("//meta[contains(@content, 'texi2html') or contains(@content, 'texi2any')]",
     "//*[@id='main'] | //body[not(.//*[@id='main'])]",
     ".//*[contains(@class, 'nav_table') or @class='header' or @id='footer' or @class='menu' or "
     "@id='tocframe' or contains(@class, 'Contents_element')]"),
    ("//*[contains(@class, 'book-navigation')]", "//*[contains(@class, 'content')]",
     ".//*[contains(@class, 'book-navigation') or contains(@class, 'page-links')]"),
)  # fmt: skip
"""Sphinx and its themes, rustdoc, Doxygen, MediaWiki, DocBook, LibreOffice help, Apache's manual,
AsciiDoc, Node.js, Texinfo, Drupal's books; javadoc and pydata name their `main`."""

_BREAKS = frozenset(BREAKING) | {"br"}


def main_content(page: bytes) -> str | None:
    """Main content of a page of documentation by its generator; None for one not in the table."""
    try:
        tree = html.document_fromstring(page, parser=html.HTMLParser(encoding="utf-8"))
    except (etree.ParserError, ValueError):
        return None
    for shown, main, left_out in TEMPLATES:
        if not tree.xpath(shown):
            continue
        held = set(tree.xpath(main))
        found = [
            one for one in tree.xpath(main) if not any(up in held for up in one.iterancestors())
        ]
        for one in found:
            for junk in one.xpath(f"{left_out} | .//script | .//style | .//template"):
                junk.drop_tree()
            for each in one.iter():
                if each.tag in _BREAKS:
                    each.text, each.tail = f"\n{each.text or ''}", f"\n{each.tail or ''}"
        text = "\n".join(one.text_content() for one in found)
        return text if text.strip() else None
    return None
