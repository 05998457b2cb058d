"""Decontamination: documents and spans that hold items of evaluation suites."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.decontam.code_index import code_shapes
    from corpus_assets.decontam.contamination import scan_contamination
    from corpus_assets.decontam.eval_index import (
        EvalItem,
        build_eval_index,
        items_by_benchmark,
        parse_eval_index,
    )
    from corpus_assets.decontam.eval_suites import eval_records, read_suites
    from corpus_assets.decontam.judgements import record_judgement
    from corpus_assets.decontam.planner import DecontamRecipe
    from corpus_assets.decontam.questions import find_questions
    from corpus_assets.decontam.settings import (
        ContaminationSettings,
        EvalIndexSettings,
        EvalSuite,
        ScanSettings,
        SuiteFields,
    )
    from corpus_assets.decontam.stage import (
        COMMON_ITEMS,
        CONTAMINATION,
        EVAL_INDEX,
        JUDGEMENTS,
        PARAPHRASES,
        PartVerdicts,
        judgement_files,
        paraphrase_model,
        part_verdicts,
        verdict_inputs,
        verdict_settings,
        write_hits,
    )
    from corpus_assets.decontam.verdicts import (
        COMMON,
        CUT,
        DROP,
        HELD_BACK,
        KEEP,
        NEAR_MISS,
        PARAPHRASE,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "COMMON",
    "COMMON_ITEMS",
    "CONTAMINATION",
    "CUT",
    "DROP",
    "EVAL_INDEX",
    "HELD_BACK",
    "JUDGEMENTS",
    "KEEP",
    "NEAR_MISS",
    "PARAPHRASE",
    "PARAPHRASES",
    "ContaminationSettings",
    "DecontamRecipe",
    "EvalIndexSettings",
    "EvalItem",
    "EvalSuite",
    "PartVerdicts",
    "ScanSettings",
    "SuiteFields",
    "build_eval_index",
    "code_shapes",
    "eval_records",
    "find_questions",
    "items_by_benchmark",
    "judgement_files",
    "paraphrase_model",
    "parse_eval_index",
    "part_verdicts",
    "read_suites",
    "record_judgement",
    "scan_contamination",
    "verdict_inputs",
    "verdict_settings",
    "write_hits",
]
