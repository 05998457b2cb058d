"""Decontamination: documents and spans that hold items of evaluation suites."""

__all__ = [
    "contamination",
    "eval_index",
    "eval_suites",
    "judgements",
    "planner",
    "questions",
    "stage",
    "verdicts",
]
