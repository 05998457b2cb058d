"""What the bounds of a tokenizer cost: bytes per token, and tokens that no text needs.

    python benchmarks/tokenizer_bounds.py FILE ... [--sizes 8192,32768] [--max-chars 16,128]

Trains a tokenizer of each size and bound on nine tenths of the texts (plain, JSONL or Parquet) and
measures it on the rest, every tenth.
"""

import argparse
import time
from itertools import product

from machine import machine

from corpus_assets.inspect.tokenizers import read_texts
from corpus_assets.shards.settings import END_OF_DOCUMENT, PAD
from corpus_assets.tokenizer.audit import TrainingFacts, audit_tokenizer
from corpus_assets.tokenizer.scripts import own_scripts
from corpus_assets.tokenizer.settings import MIN_SCRIPT_SHARE, TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", help="texts")
    parser.add_argument("--sizes", default="8192,32768")
    parser.add_argument("--max-chars", default="16,128", help="bounds of a token with a letter")
    options = parser.parse_args()
    print(f"{machine()}\n")
    passages = list(read_texts(options.files))
    held_out = passages[::10]
    learned = [one for number, one in enumerate(passages) if number % 10]
    texts = [one.text for one in learned]
    usual = TokenizerSettings()
    rows = ((one.text, one.domain, one.language) for one in learned)
    scripts = own_scripts(rows, MIN_SCRIPT_SHARE, usual.min_documents)
    print(f"{sum(map(len, texts)):,} characters in {len(texts):,} texts: {', '.join(scripts)}\n")
    print("  size    ids  max chars  bytes per token  never used  CPU s")
    sizes, bounds = (
        [int(one) for one in given.split(",")] for given in (options.sizes, options.max_chars)
    )
    for size, most in product(sizes, bounds):
        started = time.process_time()
        settings = TokenizerSettings(vocab_size=size, max_token_chars=most)
        data = train_tokenizer(texts, settings, scripts)
        spent = time.process_time() - started
        report = audit_tokenizer(
            data, held_out, END_OF_DOCUMENT, PAD, TrainingFacts(texts, scripts, most)
        )
        print(
            f"{size:6} {report.vocab_size:6} {most:10} "
            f"{report.held_out.bytes_per_token:16.4f} "
            f"{report.vocabulary.never_used_share:11.2%} {spent:6.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
