"""What an n-gram model is trained with."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NgramSettings:
    """What the model is, and what bounds it: up to 20 bytes an n-gram, 36 a word."""

    order: int = 4  # words of the longest n-grams
    max_vocabulary: int = 200_000  # the least word count is raised until no more words are left
    min_word_count: int = 2  # rarer words are unknown words
    max_ngrams: int = 4_000_000  # of two and more words; the rarest go until no more are left
    max_chars: int = 100_000_000  # read of all texts together, which are drawn by keyed hash
    min_texts: int = 10  # distinct ones
    holdout_share: float = 0.05  # of texts that are not trained on but measured with
    seed: int = 0  # of the drawing of texts
