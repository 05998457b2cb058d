"""Generate the sources of the demo corpus: small, complete, with every known trouble planted.

    library.py        the text library (banks of sentences, articles, programs, benchmark items)
    plan.py           how much of which phenomenon is planted where, and what should become of it
    compose.py        keyed random draws, articles from banks, edits that make near duplicates
    sites.py          sixty invented web sites, and their pages as HTML (families in templates/)
    texts.py          spam, thin pages, personal data, quotations, question-and-answer texts
    damage.py         broken markup, broken encodings, other content types
    warc.py           captures as WARC files, the way Common Crawl writes them
    crawl.py          one snapshot in the making: its captures, with their lines in the manifest
    planting.py       new pages with something planted in them; recrawls, mirrors, near duplicates
    web.py            the plan carried out: every capture of every snapshot, in files
    other_sources.py  code, books, mathematics, synthetic texts
    generate.py       all of it with benchmarks, quality samples and the blocklist, in one folder

`generate.generate(out)` makes the sources; `python -m corpus_assets.demo OUT` does so from the command line.
"""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.demo.generate import generate_demo
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = ["generate_demo"]
