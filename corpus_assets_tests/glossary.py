"""Words of our own, and what the trade says instead: held by `test_words.py`.

Each entry is a pattern of a phrase that reads as a translation, and the words a native engineer
would search for. Patterns match phrases, not single innocent words: "stands in the store" is ours,
"stands for" and "standard" are anybody's.
"""

import re

GLOSSARY: dict[str, str] = {
    # computing and caching
    r"\banew\b": "again; rebuild, retrain, recalibrate",
    r"\bparts run\b|\bparts \w+ found\b": "parts computed, cached",
    r"\bwaits?\b.{0,8} for (its|their) inputs": "pending",
    r"\b(takes?|taking|taken|took) (it |them |this |\S+s )?over\b": "reuse, inherit",
    r"\bpacks? of (copies|results)\b|\bresults in packs\b": "result index; a pack has training runs",
    r"\bset aside\b": "quarantined",
    r"\bstand-ins?\b": "fallback",
    r"\bstays? so\b": "persists",
    r"\bat work on\b|\brun is at work\b": "running",
    r"\bgoes on\b|\bgo on\b|\bgoing on\b": "continue",
    r"\bpassed over\b": "skip",
    r"\bhad in hand\b": "was running",
    r"\bso many (files|tokens|tiers|records|parts|passes|requests|of|bytes|samples|steps)\b": (
        "number of ..., this many"
    ),
    r"\bfailures of the world\b": "infrastructure failures",
    # removing and replacing
    r"\b(takes?|took|taken|taking) (\S+ ){0,3}out\b": "remove",
    r"\b(takes?|took|taking) (its|their) place\b": "replaced by",
    r"\bin (the )?place of\b|\bin (its|their) place\b": "instead of, its replacement",
    r"\bput (it |them )?back\b": "restore",
    r"\bwritten anew\b": "rebuilt",
    r"\bshards? shared\b|\d shared\b": "reused",
    r"\border(s)? (still )?stands?\b|\bno order stands\b": "the suppression applies",
    r"\bstanding orders?\b": "suppression",
    r"\bf[ae]lls? apart\b": "splits",
    r"\bbring(s|ing)? (\S+ ){1,6}back\b|\bbrought back\b": "restore",
    r"\bbring(s|ing)? (\S+ ){1,4}in\b(?! line)|\bbrought in\b": "import",
    r"\btak(e|es|en|ing) (it|them|crawls|pages|documents|records|snapshots) in\b|\bbeen taken in\b": (
        "ingest"
    ),
    # reporting
    r"\bstands? (there )?twice\b": "duplicate",
    r"\b(can|cannot|could|to) be told\b|\bis (said|told)\b|\bare told\b": (
        "reported, explained, determined"
    ),
    r"\bleads? (\S+ ){0,3}back to\b": "trace to",
    r"(^|[;:,.(] |\bOnly |\bor )[Ss]ay (either|one of|which|what|whether|who|how|in)\b": (
        "specify, set; show"
    ),
    r"\bstray(s|ed)?\b": "deviate",
    r"\bspeaks? of\b": "cover, refer to",
    r"\bknows? no\b": "has no",
    r"\bnothing of (it|this|a|an|that|documents)\b": "no ...",
    r"\bmore than nothing\b": "above 0",
    r"\bin all(?=[,.;:)]|$)": "total",
    r"\bis unlike\b": "differs from",
    r"\banother (one )?than\b": "differs from",
    r"\bother code\b": "different code",
    r"\bcomes? now\b": "has changed",
    r"\bas the recipe (says|asks)\b": "as configured",
    r"\b(those|which) there are\b|\bwhat there is\b": "lists them, the available ones",
    r"\b(its|their) like\b": "similar, the other ...",
    # faults
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bcut short\b": "truncated",
    r"\b(is|are) not whole\b": "incomplete",
    r"\bhalf a character\b": "an unpaired surrogate",
    r"\bput (it|that|them) right\b": "fix",
    r"\bunwell\b": "failing",
    r"\bfaults? of the program\b": "a bug, please report it",
    r"\b(is|are|NOT) whole(?=[;:,.]|$| and\b)": "intact, complete",
    r"\b(?<!ere )(is|are) no (?!longer\b|more\b|less\b|one\b|different\b|need\b)": "is not a",
    r"\bhas not (the|a|an)\b": "does not have",
    r"\bthere already\b|\bhere already\b": "already exists",
    r"\bal+ the same\b(?= *[;:,.)]|$)|\bit all the same\b": "anyway",
    # people
    r"\b[Nn]obody\b": "no one, another process, keep it private",
    r"\b[Ss]omebody\b|\b[Aa]nybody\b|\b[Ww]hoever\b": "someone, anyone; name the actor",
    r"\bof (ours|yours|theirs)\b": "our own, built-in, your own",
    # things
    r"\bstands? (in|on|at|under|below|above|beside|elsewhere|there|alone|behind|before)\b(?! for)": (
        "is, appears, comes"
    ),
    r"\bstood in\b(?! for)": "was in",
    r"\b(lies?|lay) (in|beside|outside|at|below|under)\b": "is in, is next to",
    r"\bbeside each other\b": "side by side",
    r"\bwent, (by|with)\b": "removed by",
    r"\b(models?|similarity) of vectors\b": "embedding model, embedding similarity",
    r"\bmodels from outside\b": "external models",
    r"\bnumbers by which\b": "national identification numbers",
    r"\bsmall letters\b": "lowercase",
    r"\bwithout case\b": "case-insensitive",
    r"\bby lot\b": "at random",
    r"\bmade-up\b": "synthetic",
    r"\b(one|two|row|entry|line|model|seed|arm) an? (core|CPU|line|page|group|domain|row|seed)\b": (
        "one per ..."
    ),
    r"\b(tokens|documents|bytes|samples) an? (second|parameter|token|document|block|step|file)\b": (
        "per"
    ),
    r"\bfrom which on\b": "at or above which",
    r"\bwhatever (its|their|is|was|the|a|others?)\b": "regardless of",
    r"\bhowever (much|many) it\b": "regardless of size",
    r"\bof all that is drawn\b": "random seed",
    r"\bwhat an? (\w+ )?tokenizer is worth\b": "inspect tokenizers",
    r"\bby small models\b": "with small proxy models",
    r"\bon its own account\b": "by itself",
    r"\bno way back\b": "cannot be reversed",
    r"\bfinds everything done\b": "is a no-op",
}

PATTERNS = {re.compile(pattern): better for pattern, better in GLOSSARY.items()}
