"""From declarations to work: tasks, plan, run, reuse, leases, checks."""

__all__ = ["checks", "engine", "leases", "pipeline", "plan", "run"]
