"""An extraction process that misbehaves on command: the real one with another engine.

A page that holds one of the words below gets what it asks for; any other page is its own text.
"""

import os
import re
import signal

from corpus_assets.ingest.extractors import engines, page_child
from corpus_assets.ingest.extractors.engines import Extracted


def rude(page: bytes) -> str:
    html = page.decode("utf-8", "surrogatepass")
    if "raise an error" in html:
        raise RecursionError("secret words of the page")
    if "segfault" in html:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "kill from outside" in html:
        os.kill(os.getpid(), signal.SIGKILL)
    if "hang in C" in html:
        re.match(r"(a|aa)+$", "a" * 60 + "b")  # holds the interpreter's lock for years
    if "eat memory" in html:
        return str(len(b"x" * (200 << 20)))
    if "eat all memory" in html:
        return str(len(b"x" * (40 << 30)))
    if "print noise" in html:
        os.write(1, b"noise " * 1000)
    if "leave quietly" in html:
        os._exit(7)
    return html


if __name__ == "__main__":
    engines.make_reader = lambda options: lambda page: Extracted(rude(page))
    page_child.main()
