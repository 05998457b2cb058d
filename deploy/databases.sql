-- Two databases: the registry is ours, the other is Dagster's.
CREATE DATABASE dagster;
CREATE DATABASE corpus_catalog;
