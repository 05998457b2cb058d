"""Invented sources for the demo corpus: small, whole, and with every known trouble planted in them.

    draw.py      keyed random draws that give the same numbers on every machine
    library.py   the text library (banks of sentences, articles, programs, benchmark items)
    compose.py   articles from banks, and the honest edits that make near duplicates
    texts.py     spam, thin pages, personal data, quotations, question-and-answer texts
    sites.py     sixty invented web sites, and where their pages live
    pages.py     articles as HTML, by the template families in templates/
    damage.py    broken markup, broken encodings, other content types
    plan.py      how much of which phenomenon is planted where, and what should become of it
    capture.py   one capture: page, HTTP headers, line in the manifest
    crawl.py     one snapshot in the making
    planting.py  new pages with something planted in them
    copies.py    recrawls, mirrors, near duplicates
    web.py       the plan carried out: every capture of every snapshot, in files
    warc.py      captures as WARC files, the way Common Crawl writes them
    programs.py  program files and their variants
    others.py    code, books, mathematics, synthetic texts
    samples.py   benchmarks, quality samples, the blocklist
    generate.py  all of it, into one folder, with a manifest of what was planted

`generate.generate(out)` is the door; `python -m corpus_assets.demo OUT` is the same by hand.
"""
