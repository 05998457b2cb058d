"""Random corpora, recipes and requests, and the builds that a takedown is compared with."""
