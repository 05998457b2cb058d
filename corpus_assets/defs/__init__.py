"""Dagster, and only here: assets, sensors, schedules, made from declarations."""

__all__ = [
    "assets",
    "build",
    "build_sensor",
    "launched",
    "notices",
    "partitions",
    "resources",
    "runs",
    "schedules",
    "sensors",
    "takedown",
    "takedown_request",
    "takedown_sensor",
]
