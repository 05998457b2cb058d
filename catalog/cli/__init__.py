"""The `catalog` command."""


def main() -> None:
    """Run the command; what it needs is imported when it is called."""
    from catalog.cli.commands import main as command

    command()


__all__ = [
    "answers",
    "commands",
    "main",
    "process",
    "terminal",
]
