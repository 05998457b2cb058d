"""Signals as their publications define them, a family or two a file."""
