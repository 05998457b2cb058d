"""No module imports itself by way of others: what a module needs can be read before it."""

import grimp
import pytest


def circles(package: str) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan 1972), each sorted."""
    graph = grimp.build_graph(package, exclude_type_checking_imports=True)
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            if imported not in number:
                visit(imported)
                low[module] = min(low[module], low[imported])
            elif imported in stack:
                low[module] = min(low[module], number[imported])
        if low[module] == number[module]:
            place = stack.index(module)
            if len(stack) - place > 1:
                found.append(sorted(stack[place:]))
            del stack[place:]

    for module in sorted(graph.modules):
        if module not in number:
            visit(module)
    return found


@pytest.mark.parametrize("package", ["corpus_assets", "catalog"])
def test_no_package_has_an_import_circle(package: str) -> None:
    assert circles(package) == []
