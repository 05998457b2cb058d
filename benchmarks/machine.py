"""Say what a benchmark runs on: figures of one processor are not those of another."""

import os
import platform
from pathlib import Path

_ARM = {
    ("0x41", "0xd0c"): "Neoverse N1",
    ("0x41", "0xd40"): "Neoverse V1",
    ("0x41", "0xd49"): "Neoverse N2",
    ("0x41", "0xd4f"): "Neoverse V2",
}


def machine() -> str:
    """Processor model, architecture, usable cores and Python, in one line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    implementation, version = platform.python_implementation(), platform.python_version()
    return f"{_model()} ({platform.machine()}), {cores} cores, {implementation} {version}"


def _model() -> str:
    """The processor's name; Arm machines under Linux tell numbers of maker and part only."""
    told: dict[str, str] = {}
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for name, _, value in (line.partition(":") for line in lines):
        told.setdefault(name.strip(), value.strip())
    if "CPU implementer" in told and "model name" not in told:
        part = told.get("CPU part", "?")
        return _ARM.get((told["CPU implementer"], part), f"Arm part {part}")
    return told.get("model name") or platform.processor() or "unknown processor"


if __name__ == "__main__":
    print(machine())
