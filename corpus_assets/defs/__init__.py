"""Dagster, and only here: assets, sensors, schedules, made from declarations."""

__all__ = [
    "assets",
    "build",
    "folder",
    "launched",
    "notices",
    "partitions",
    "resources",
    "runs",
    "sensors",
    "takedown",
    "takedown_sensor",
]
