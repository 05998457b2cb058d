"""Compiled kernels over the bytes of texts: a cache that is never stale, and what scans share."""
