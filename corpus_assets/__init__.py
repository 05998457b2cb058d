"""LLM pre-training corpora as a graph of stages. Begin with `stages.py`, which lists them."""
