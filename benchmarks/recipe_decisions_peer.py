"""The authors' side of benchmarks/recipe_decisions.py; runs in a virtual environment of its own.

    python recipe_decisions_peer.py JOB.json OUT.json

Runs the code that the authors of each published recipe gave out over the same texts, a rule at a
time, with the values of the publication. For each recipe it writes whose code it was, what each of
our rules is there (True: stays, None: not reached), and the text that line rules leave; or why
nothing could be compared.
"""

import contextlib
import functools
import importlib.metadata
import importlib.util
import json
import logging
import re
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Keeps = list[bool | None]
TOP = {2: 0.20, 3: 0.18, 4: 0.16}
DUP = {5: 0.15, 6: 0.14, 7: 0.13, 8: 0.12, 9: 0.11, 10: 0.10}
NAMES = {**{n: f"top_{n}_gram" for n in TOP}, **{n: f"repeated_{n}_grams" for n in DUP}}
# FineWeb2's names of the languages that its recipe lists.
FINEWEB2 = {
    "bo": "bod_Tibt", "cs": "ces_Latn", "de": "deu_Latn", "el": "ell_Grek", "es": "spa_Latn",
    "fr": "fra_Latn", "it": "ita_Latn", "ja": "jpn_Jpan", "km": "khm_Khmr", "lo": "lao_Laoo",
    "my": "mya_Mymr", "nl": "nld_Latn", "pl": "pol_Latn", "pt": "por_Latn", "ru": "rus_Cyrl",
    "sv": "swe_Latn", "th": "tha_Thai", "tr": "tur_Latn", "zh": "cmn_Hani",
}  # fmt: skip


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    out: dict[str, Any] = {}
    for name, compare in AUTHORS.items():
        if name in job["recipes"]:
            start = time.process_time()
            try:
                out[name] = compare(job)
                print(f"{name}: {time.process_time() - start:.0f} CPU s", file=sys.stderr)
            except ImportError as error:
                out[name] = {"absent": f"no module {error.name} in the peer's environment"}
    Path(sys.argv[2]).write_text(json.dumps(out), encoding="utf-8")


def version(package: str) -> str:
    return f"{package} {importlib.metadata.version(package)}"


# datatrove: FineWeb, FineWeb2, and Gopher's rules, whose authors published no code.


def by_datatrove(make: Callable[..., Any], texts: list[str], **only: Any) -> Keeps:
    """What a filter of datatrove says when it has one rule."""
    from datatrove.data import Document

    one = make(**only)
    return [one.filter(Document(text, "")) is True for text in texts]


@contextlib.contextmanager
def words(split: Callable[[str, str], list[str]] | None = None) -> Iterator[None]:
    """Split each text into words once for all rules, or with another function than datatrove's."""
    from datatrove.pipeline.filters import (
        fineweb_quality_filter,
        gopher_quality_filter,
        gopher_repetition_filter,
    )

    modules = (fineweb_quality_filter, gopher_quality_filter, gopher_repetition_filter)
    theirs = gopher_quality_filter.split_into_words
    for module in modules:
        module.split_into_words = functools.cache(split or theirs)
    yield
    for module in modules:
        module.split_into_words = theirs


def repetition(
    texts: list[str], lines: dict[str, float], language: str = "en", **ngrams: Any
) -> dict[str, Keeps]:
    from datatrove.pipeline.filters import GopherRepetitionFilter

    off: dict[str, Any] = dict.fromkeys(
        ("dup_line_frac", "dup_para_frac", "dup_line_char_frac", "dup_para_char_frac")
    )
    off |= {"top_n_grams": (), "dup_n_grams": (), "language": language}
    run = functools.partial(by_datatrove, GopherRepetitionFilter, texts)
    named = {
        "dup_line_frac": "repeated_lines",
        "dup_para_frac": "repeated_paragraphs",
        "dup_line_char_frac": "repeated_line_chars",
        "dup_para_char_frac": "repeated_paragraph_chars",
    }
    out = {named[key]: run(**off | {key: value}) for key, value in lines.items()}
    for key, default in (("top_n_grams", TOP), ("dup_n_grams", DUP)):
        for n, share in dict(ngrams.get(key, default)).items():
            out[NAMES[n]] = run(**off | {key: ((n, share),)})
    return out


def quality(texts: list[str], language: str = "en", **other: Any) -> dict[str, Keeps]:
    from datatrove.data import Document
    from datatrove.pipeline.filters import GopherQualityFilter

    off = dict.fromkeys(
        (
            "min_doc_words", "max_doc_words", "min_avg_word_length", "max_avg_word_length",
            "max_symbol_word_ratio", "max_bullet_lines_ratio", "max_ellipsis_lines_ratio",
            "max_non_alpha_words_ratio", "min_stop_words",
        )
    )  # fmt: skip
    said = {
        "word_count": {"min_doc_words": 50, "max_doc_words": 100000},
        "word_length": {"min_avg_word_length": 3, "max_avg_word_length": 10},
        "bullet_lines": {"max_bullet_lines_ratio": 0.9},
        "ellipsis_lines": {"max_ellipsis_lines_ratio": 0.3},
        "few_alphabetic_words": {"max_non_alpha_words_ratio": 0.8},
        "few_stop_words": {"min_stop_words": 2, "stop_words": other.get("stop_words")},
    }
    for rule in ("word_length", "few_alphabetic_words"):
        said[rule] = {key: other.get(key, value) for key, value in said[rule].items()}
    base = {**off, "language": language}
    out = {
        rule: by_datatrove(GopherQualityFilter, texts, **base | values)
        for rule, values in said.items()
    }
    symbols = GopherQualityFilter(**base | {"max_symbol_word_ratio": 0.1})
    reasons = [symbols.filter(Document(text, "")) for text in texts]
    out["hash_signs"] = [r is True or r[1] != "gopher_too_many_hashes" for r in reasons]
    out["ellipses"] = [
        None if not hashes else r is True
        for r, hashes in zip(reasons, out["hash_signs"], strict=True)
    ]
    return out


def fineweb_quality(
    texts: list[str | None], language: str = "en", **values: Any
) -> dict[str, Keeps]:
    """FineWeb's own rules over texts that C4's line rules left; None where they left none."""
    from datatrove.pipeline.filters import FineWebQualityFilter

    # What never fails.
    off = {
        "line_punct_thr": -1,
        "short_line_thr": 2,
        "char_duplicates_ratio": 2,
        "new_line_ratio": 9e9,
    }
    said = {
        "line_punct_thr": 0.12,
        "short_line_thr": 0.67,
        "char_duplicates_ratio": 0.01,
        "new_line_ratio": 0.3,
    }
    named = {
        "line_punct_thr": "unfinished_lines",
        "short_line_thr": "short_lines",
        "char_duplicates_ratio": "copied_lines",
        "new_line_ratio": "list_like",
    }
    there = [text for text in texts if text]
    out: dict[str, Keeps] = {}
    for key, rule in named.items():
        value = values.get(key, said[key])
        if value is not None:
            one = off | {key: value} | {"language": language}
            found = iter(by_datatrove(functools.partial(FineWebQualityFilter, None), there, **one))
            out[rule] = [next(found) if text else None for text in texts]
    return out


def fineweb(job: dict[str, Any]) -> dict[str, Any]:
    from datatrove.data import Document
    from datatrove.pipeline.filters import C4QualityFilter, LanguageFilter

    texts = job["texts"]
    lines = {
        "dup_line_frac": 0.3,
        "dup_para_frac": 0.3,
        "dup_line_char_frac": 0.2,
        "dup_para_char_frac": 0.2,
    }
    with words():
        rules = repetition(texts, lines) | quality(texts)
    language = LanguageFilter(languages="en")
    language.model.MODEL_URL = job["lid"]
    rules["language+language_confidence"] = [
        bool(language.filter(Document(text, ""))) for text in texts
    ]
    c4 = C4QualityFilter(filter_no_terminal_punct=False)
    left: list[str | None] = []
    reasons: list[str | None] = []
    for text in texts:
        document = Document(text, "")
        found = c4.filter(document)
        left.append(document.text if found is True else None)
        reasons.append(None if found is True else found[1])
    names = {
        "lorem_ipsum": "lorem_ipsum",
        "curly_brace": "curly_bracket",
        "few_sentences": "too_few_sentences",
    }
    with words():
        rules |= stepwise(reasons, names) | fineweb_quality(left)
    return {"by": version("datatrove"), "rules": rules, "left": {"c4_lines": left}}


def stepwise(reasons: list[str | None], names: dict[str, str]) -> dict[str, Keeps]:
    """Rules of one pass that stops at the first that fails: later ones are not reached."""
    out: dict[str, Keeps] = {}
    earlier: set[str] = set()
    for rule, reason in names.items():
        out[rule] = [None if found in earlier else found != reason for found in reasons]
        earlier.add(reason)
    return out


def fineweb2(job: dict[str, Any]) -> dict[str, Any]:
    with words():
        return by_language(job)


def by_language(job: dict[str, Any]) -> dict[str, Any]:
    rules: dict[str, Keeps] = {}
    absent = {}
    for code, values in job["fineweb2"]["thresholds"].items():
        rows = [n for n, language in enumerate(job["languages"]) if language == code]
        if not rows:
            continue
        texts = [job["texts"][n] for n in rows]
        language = FINEWEB2[code]
        top = {n: values[f"top_{n}"] for n in TOP}
        dup = {n: values[f"dup_{n}"] for n in DUP}
        try:
            found = repetition(
                texts,
                {"dup_line_frac": values["dup_line_share"]},
                language,
                top_n_grams=top,
                dup_n_grams=dup,
            )
            found |= quality(
                texts,
                language,
                min_avg_word_length=values["min_word_chars"],
                max_avg_word_length=values["max_word_chars"],
                max_non_alpha_words_ratio=values["alphabetic"],
                stop_words=job["fineweb2"]["stop_words"][code],
            )
            found |= fineweb_quality(
                list(texts),
                language,
                line_punct_thr=values["terminal"],
                short_line_thr=None,
                char_duplicates_ratio=0.1,
                new_line_ratio=values["newlines"],
            )
        except ImportError as error:
            absent[code] = f"{error.name or error}"
            continue
        for rule, keeps in found.items():
            all_rows = rules.setdefault(rule, [None] * len(job["texts"]))
            for n, keep in zip(rows, keeps, strict=True):
                all_rows[n] = keep
    note = "".join(f"; no {code}: needs {what}" for code, what in absent.items())
    return {"by": version("datatrove") + note, "rules": rules}


def gopher(job: dict[str, Any]) -> dict[str, Any]:
    lines = {
        "dup_line_frac": 0.3,
        "dup_para_frac": 0.3,
        "dup_line_char_frac": 0.2,
        "dup_para_char_frac": 0.2,
    }
    with words(lambda text, language: text.split()):
        rules = repetition(job["texts"], lines) | quality(job["texts"])
    by = f"no code of theirs; {version('datatrove')}, words split at white space"
    return {"by": by, "rules": rules}


# TensorFlow Datasets: C4.


def c4(job: dict[str, Any]) -> dict[str, Any]:
    utils = c4_utils()
    page = utils.PageFeatures
    reasons: list[str | None] = []
    left: list[str | None] = []
    clean = utils.get_clean_page_fn()
    for text in job["texts"]:
        counted: list[str] = []
        found = list(
            clean(page(text=text), counter_inc_fn=lambda name, n=1, to=counted: to.append(name))
        )
        reason = next((name[9:] for name in counted if name.startswith("filtered:")), None)
        reasons.append(reason)
        left.append(found[0].text if found else None)
    names = {
        "lorem_ipsum": "loremipsum",
        "curly_brace": "squigglybracket",
        "few_sentences": "too_few_sentences",
    }
    rules = stepwise(reasons, names)
    rules["language+language_confidence"] = [
        bool(text) and bool(list(utils.detect_english(page(text=text))))
        if text is not None
        else None
        for text in left
    ]
    if job["bad_words"]:
        words = Path(job["bad_words"]).read_text(encoding="utf-8").splitlines()
        clean_of = utils.get_badwords_filter_fn({"en": words})
        rules["bad_words"] = [
            None
            if text is None
            else bool(clean_of(page(text=text, language="en", url="u", normalized_url="u")))
            for text in left
        ]
    return {"by": version("tensorflow-datasets"), "rules": rules, "left": {"c4_lines": left}}


def c4_utils() -> Any:
    """c4_utils.py of TensorFlow Datasets, without TensorFlow and Beam, of which it needs no more
    than a change of type and counters."""
    import langdetect
    import nltk

    found = importlib.util.find_spec("tensorflow_datasets")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(name="tensorflow_datasets")
    nltk.download = lambda name: None
    carrier = importlib.util.find_spec("llama_index")  # brings NLTK's data
    for folder in (carrier and carrier.submodule_search_locations) or ():
        nltk.data.path.append(str(Path(folder, "core", "_static", "nltk_cache")))
    counter = types.SimpleNamespace(inc=lambda n: None)
    lazy = types.SimpleNamespace(
        nltk=nltk,
        langdetect=langdetect,
        apache_beam=types.SimpleNamespace(
            metrics=types.SimpleNamespace(
                Metrics=types.SimpleNamespace(counter=lambda *names: counter)
            )
        ),
    )
    as_text = types.SimpleNamespace(as_text=lambda text: text)
    stubs = {
        "absl": {"logging": None},
        "tensorflow_datasets": {},
        "tensorflow_datasets.core": {},
        "tensorflow_datasets.core.utils": {},
        "tensorflow_datasets.core.utils.lazy_imports_utils": {
            "tensorflow": types.SimpleNamespace(compat=as_text)
        },
        "tensorflow_datasets.public_api": {"core": types.SimpleNamespace(lazy_imports=lazy)},
    }
    for name, members in stubs.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module
    vars(sys.modules["tensorflow_datasets"])["public_api"] = sys.modules[
        "tensorflow_datasets.public_api"
    ]
    path = Path(next(iter(found.submodule_search_locations)), "text", "c4_utils.py")
    spec = importlib.util.spec_from_file_location("c4_utils", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["c4_utils"] = module
    spec.loader.exec_module(module)
    return module


# The toolkit of Dolma, and the rules of configs/dolma-v1_5/mixing/cc-head.yaml.


def dolma(job: dict[str, Any]) -> dict[str, Any]:
    from dolma.taggers.c4 import get_attributes as c4_attributes
    from dolma.taggers.gopher import get_attributes

    bounds: dict[str, tuple[str, float, float]] = {
        "word_count": ("word_count", 50, 100000),
        "word_length": ("median_word_length", 3, 10),
        "symbols": ("symbol_to_word_ratio", 0, 0.1),
        "few_alphabetic_words": ("fraction_of_words_with_alpha_character", 0.8, 1),
        "few_stop_words": ("required_word_count", 2, float("inf")),
        "bullet_lines": ("fraction_of_lines_starting_with_bullet_point", 0, 0.9),
        "ellipsis_lines": ("fraction_of_lines_ending_with_ellipsis", 0, 0.3),
        "repeated_lines": ("fraction_of_duplicate_lines", 0, 0.3),
        "repeated_line_chars": ("fraction_of_characters_in_duplicate_lines", 0, 0.3),
    }
    rules: dict[str, Keeps] = {}
    for text in job["texts"]:
        found = get_attributes(text)
        keeps = {
            rule: low <= getattr(found, name) <= high for rule, (name, low, high) in bounds.items()
        }
        shares = dict(
            found.fraction_of_characters_in_most_common_ngram
            + found.fraction_of_characters_in_duplicate_ngrams
        )
        keeps |= {NAMES[n]: shares.get(n, 0) <= limit for n, limit in (TOP | DUP).items()}
        lines = c4_attributes(text)
        ended = len(lines.lines_with_no_ending_punctuation) / max(lines.line_count, 1)
        keeps["unfinished_lines"] = ended <= 0.5
        for rule, keep in keeps.items():
            rules.setdefault(rule, []).append(keep)
    return {"by": version("dolma"), "rules": rules}


# CCNet.


def ccnet(job: dict[str, Any]) -> dict[str, Any]:
    from cc_net.process_wet_file import parse_warc_file
    from cc_net.split_by_lang import Classifier

    logging.getLogger("cc_net").setLevel(logging.WARNING)
    classify = Classifier(Path(job["lid"]), "raw_content", "language", threshold=0.5)
    classify._prepare()
    rules: dict[str, Keeps] = {"too_short": [], "language_confidence": []}
    for text in job["texts"]:
        found = list(parse_warc_file(wet_lines(text), min_len=300))
        rules["too_short"].append(bool(found))
        rules["language_confidence"].append(classify.do({"raw_content": text}) is not None)
    return {"by": version("cc_net"), "rules": rules}


def wet_lines(text: str) -> Iterator[str]:
    """A page as a WET file has it, with a title, which is not counted."""
    yield "WARC/1.0"
    yield "WARC-Type: conversion"
    yield "WARC-Target-URI: http://page.example/"
    yield "WARC-Date: 2024-01-01T00:00:00Z"
    yield "WARC-Record-ID: <urn:uuid:0>"
    yield "WARC-Refers-To: <urn:uuid:0>"
    yield "WARC-Block-Digest: sha1:0"
    yield "Content-Type: text/plain"
    yield f"Content-Length: {len(text)}"
    yield ""
    yield "title"
    yield from text.split("\n")
    yield ""
    yield ""


# DCLM and RedPajama-V2: no packages; a checkout is named.


def dclm(job: dict[str, Any]) -> dict[str, Any]:
    if not job["dclm"]:
        return {"absent": "no package; name a checkout of mlfoundations/dclm with --dclm"}
    sys.path[:0] = [job["dclm"], str(Path(job["dclm"], "baselines"))]
    for name in ("transformers", "justext", "bs4", "blingfire"):
        # Imported there by what is not used here.
        stand_in = types.ModuleType(name)
        vars(stand_in).update(AutoTokenizer=None, BeautifulSoup=None)
        sys.modules.setdefault(name, stand_in)
    from baselines.mappers import modifiers
    from baselines.mappers.enrichers.enrichers import word_counter_enricher
    from baselines.mappers.filters import content_filters as filters

    simple: dict[str, tuple[Any, dict[str, Any]]] = {
        "word_count": (
            filters.page_length_filter,
            {
                "length_type": "word",
                "min_length": 50,
                "max_length": 100000,
                "ignore_punctuation": True,
            },
        ),
        "word_length": (filters.word_length_filter, {"min_length": 3, "max_length": 10}),
        "symbols": (filters.symbol_ratio_filter, {"max_symbol_to_word_ratio": 0.1}),
        "bullet_lines": (filters.bullet_count_filter, {"max_bullet_start_ratio": 0.9}),
        "ellipsis_lines": (filters.ellipsis_count_filter, {"max_ellipsis_end_ratio": 0.3}),
        "few_alphabetic_words": (filters.alphabetic_word_ratio_filter, {"max_ratio": 0.2}),
        "few_stop_words": (filters.stop_word_filter, {"count_unique": False, "min_stop_word": 2}),
    }
    repeated: dict[str, tuple[Any, float, bool]] = {
        "repeated_lines": ("line", 0.3, False),
        "repeated_paragraphs": ("paragraph", 0.3, False),
        "repeated_line_chars": ("line", 0.2, True),
        "repeated_paragraph_chars": ("paragraph", 0.2, True),
        **{NAMES[n]: (n, share, True) for n, share in (TOP | DUP).items()},
    }
    tlds = Path(job["dclm"], "baselines", "mappers", "iana_tlds.txt")
    remove = modifiers.url_removal_modifier(str(tlds))
    squeeze = modifiers.newline_removal_modifier(max_consecutive=2)
    cuts = [
        functools.partial(modifiers.uppercase_ratio_line_modifier, max_ratio=0.5),
        functools.partial(modifiers.numeric_ratio_line_modifier, max_ratio=0.999999),
        modifiers.counter_line_modifier(),
        functools.partial(modifiers.line_length_modifier, min_length=2),
        *(
            modifiers.substring_line_modifier(max_length=10, remove_substring_only=True, **one)
            for one in (
                {"banlist": "items in cart"},
                {"banlist": "Read more...", "location": "suffix"},
                {"banlist": "Sign-in", "location": "prefix"},
            )
        ),
    ]
    rules: dict[str, Keeps] = {}
    whole: list[str | None] = []
    left: list[str | None] = []
    for text in job["texts"]:
        (page,) = squeeze((remove({"text": text}) or [{"text": ""}])[0])
        whole.append(page["text"])
        cache: dict[str, Any] = {}
        keeps = {rule: bool(one(dict(page), **values)) for rule, (one, values) in simple.items()}
        for rule, (unit, limit, chars) in repeated.items():
            found = filters.repetition_filter(
                page, unit, limit, count_characters=chars, cache=cache
            )
            keeps[rule] = bool(found)
        pages = word_counter_enricher(page, key="previous_word_count")
        for cut in cuts:
            pages = cut(pages[0]) if pages else []
        left.append(pages[0]["text"] if pages else "")
        keeps["cut_words"] = bool(pages) and bool(
            filters.word_removal_ratio_filter(
                pages[0], prev_word_count_key="previous_word_count", max_removed_ratio=0.05
            )
        )
        for rule, keep in keeps.items():
            rules.setdefault(rule, []).append(keep)
    steps = {"dclm_text": whole, "dclm_lines": left}
    return {"by": "a checkout of mlfoundations/dclm", "rules": rules, "left": steps}


def redpajama(job: dict[str, Any]) -> dict[str, Any]:
    if not job["redpajama"]:
        return {
            "absent": "no package; name a checkout of togethercomputer/RedPajama-Data with --redpajama"
        }
    sys.path.insert(0, str(Path(job["redpajama"], "app", "src")))
    for name in [name for name in sys.modules if re.match(r"(core|utilities)(\.|$)", name)]:
        del sys.modules[name]
    from core.document import Document
    from core.quality_signals import content, lines, natural_language, repetitions

    signals = {
        "word_count": (natural_language.RPS_Doc_Word_Count(), 50, 10000),
        "word_length": (natural_language.RPS_Doc_Mean_Word_Length(), 3, 10),
        "symbols": (natural_language.RPS_Doc_Symbol_To_Word_Ratio(), 0, 0.1),
        "ellipsis_lines": (natural_language.RPS_Doc_Frac_Lines_End_With_Ellipsis(), 0, 0.3),
        "lorem_ipsum": (content.RPS_Doc_Lorem_Ipsum(), 0, 0),
        **{
            NAMES[n]: (getattr(repetitions, f"RPS_Doc_Frac_Chars_Top_{n}gram")(), 0, limit)
            for n, limit in TOP.items()
        },
        **{
            NAMES[n]: (getattr(repetitions, f"RPS_Doc_Frac_Chars_Dupe_{n}Grams")(), 0, limit)
            for n, limit in DUP.items()
        },
    }
    bullets = lines.RPS_Lines_Start_With_Bulletpoint()
    rules: dict[str, Keeps] = {}
    for text in job["texts"]:
        document = Document(text, None)
        keeps = {}
        for rule, (signal, low, high) in signals.items():
            ((_, _, score),) = signal(document)
            keeps[rule] = score is not None and low <= score <= high
        marked = [score for _, _, score in bullets(document)]
        keeps["bullet_lines"] = sum(marked) / len(marked) <= 0.9
        for rule, keep in keeps.items():
            rules.setdefault(rule, []).append(keep)
    return {"by": "a checkout of togethercomputer/RedPajama-Data", "rules": rules}


# NeMo Curator: Nemotron-CC.


def nemotron(job: dict[str, Any]) -> dict[str, Any]:
    found = importlib.util.find_spec("nemo_curator")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(name="nemo_curator")
    root = Path(next(iter(found.submodule_search_locations)))
    for name in (
        "",
        "stages",
        "stages.text",
        "stages.text.filters",
        "stages.text.filters.fasttext",
    ):
        # Packages without what they import for themselves: Ray, torch and the like.
        package = types.ModuleType(f"nemo_curator.{name}".rstrip("."))
        package.__path__ = [str(root.joinpath(*name.split(".")))]
        sys.modules[package.__name__] = package
    from nemo_curator.stages.text.filters.fasttext.fasttext_filters import FastTextLangId
    from nemo_curator.stages.text.filters.heuristic import repetition, string

    filters = {
        "symbols": string.NonAlphaNumericFilter(max_non_alpha_numeric_to_text_ratio=0.25),
        "addresses": string.UrlsFilter(max_url_to_text_ratio=0.2),
        "brackets": string.ParenthesesFilter(max_parentheses_ratio=0.1),
        "legal_notices": string.BoilerPlateStringFilter(max_boilerplate_string_ratio=0.4),
        "unfinished_lines": string.PunctuationFilter(max_num_sentences_without_endmark_ratio=0.85),
        "long_word": string.LongWordFilter(max_word_length=1000),
        "hash_signs+ellipses": string.SymbolsToWordsFilter(max_symbol_to_word_ratio=0.1),
        "digits": string.NumbersFilter(max_number_to_text_ratio=0.15),
        "white_space": string.WhiteSpaceFilter(max_white_space_ratio=0.25),
        "repeated_lines": repetition.RepeatedLinesFilter(0.7),
        "repeated_paragraphs": repetition.RepeatedParagraphsFilter(0.7),
        "repeated_line_chars": repetition.RepeatedLinesByCharFilter(0.8),
        "repeated_paragraph_chars": repetition.RepeatedParagraphsByCharFilter(0.8),
        "word_count": string.WordCountFilter(min_words=50, max_words=100000),
        "few_alphabetic_words": string.WordsWithoutAlphabetsFilter(min_words_with_alphabets=0.8),
        "few_stop_words": string.CommonEnglishWordsFilter(min_num_common_words=2),
        "word_length": string.MeanWordLengthFilter(min_mean_word_length=3, max_mean_word_length=10),
        "ellipsis_lines": string.EllipsisFilter(max_num_lines_ending_with_ellipsis_ratio=0.3),
        "bullet_lines": string.BulletsFilter(max_bullet_lines_ratio=0.9),
        **{NAMES[n]: repetition.RepeatingTopNGramsFilter(n, limit) for n, limit in TOP.items()},
        **{
            NAMES[n]: repetition.RepeatingDuplicateNGramsFilter(n, limit)
            for n, limit in DUP.items()
        },
    }
    language = FastTextLangId(job["lid"], min_langid_score=0.3, lang="en")
    language.load_model()
    filters["language+language_confidence"] = language
    rules = {
        rule: [bool(one.keep_document(one.score_document(text))) for text in job["texts"]]
        for rule, one in filters.items()
    }
    return {"by": version("nemo-curator"), "rules": rules}


def none(why: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda job: {"absent": why}


AUTHORS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "fineweb": fineweb,
    "fineweb-edu": none("the rules of `fineweb`; the model that grades pages is no code"),
    "fineweb2": fineweb2,
    "gopher": gopher,
    "dolma": dolma,
    "ccnet": ccnet,
    "c4": c4,
    "dclm": dclm,
    "redpajama-v2": redpajama,
    "nemotron-cc": nemotron,
    "llama3-like": none("no code was published"),
}


if __name__ == "__main__":
    main()
