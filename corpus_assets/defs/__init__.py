"""Dagster, and only here: assets, sensors, schedules, made from declarations."""

__all__ = [
    "assets",
    "build",
    "build_sensor",
    "notices",
    "partitions",
    "resources",
    "schedules",
    "sensors",
    "takedown",
    "takedown_sensor",
]
