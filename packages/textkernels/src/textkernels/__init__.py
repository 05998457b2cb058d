"""Compiled kernels over the bytes of texts: a cache that is never stale, and what scans share.

The modules are the doors.
"""

__all__ = ["byte_search", "bytes", "compiled", "hashing", "normal_forms", "utf8"]
