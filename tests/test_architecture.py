"""Imports point one way: from the command line down to formulas.

Every import counts, also those inside functions and under TYPE_CHECKING.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

# A package may import from the layers below its own, and from packages of its own layer as long as
# there is no cycle. "pacbound" alone is the public surface, `pacbound/__init__.py`.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "printable"}),
    frozenset({"files", "memory", "devices", "seeds", "products"}),
    frozenset({"bounds"}),
    frozenset({"flows", "certificate"}),
    frozenset({"data", "posteriors", "networks", "extractors", "recipes", "priors", "workers"}),
    frozenset(
        {"training", "predictors", "predict", "verification", "fixed", "monitoring", "policy"}
    ),
    frozenset({"report"}),
    frozenset({"api", "sklearn"}),
    frozenset({"pacbound"}),
    frozenset({"experiments"}),
    frozenset({"pacbound_cli"}),
)
HEIGHT = {package: height for height, layer in enumerate(LAYERS) for package in layer}

# Imports against the direction that are still there, by module. The set may only shrink.
KNOWN_EXCEPTIONS: frozenset[tuple[str, str]] = frozenset()


def modules() -> dict[str, Path]:
    """Every module of both packages, by its dotted name."""
    found = {}
    for folder in (ROOT, ROOT / "cli"):
        for package in ("pacbound", "pacbound_cli"):
            for path in sorted((folder / package).rglob("*.py")):
                parts = path.relative_to(folder).with_suffix("").parts
                found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imports(module: str) -> Iterator[str]:
    """The modules that a module imports, wherever the statement stands."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{module} has a relative import"
            for alias in node.names:
                if (node.module, alias.name) == ("pacbound", "__version__"):
                    continue  # every module may ask for the version
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else node.module


def package_of(module: str) -> str:
    """The top-level package or module of `pacbound` that a module belongs to."""
    first, _, rest = module.partition(".")
    return rest.partition(".")[0] or first if first == "pacbound" else first


@functools.cache
def crossings() -> list[tuple[str, str]]:
    """Pairs of modules of different packages, of which the first imports the second."""
    return [
        (module, imported)
        for module in MODULES
        for imported in sorted(set(imports(module)))
        if imported.partition(".")[0] in ("pacbound", "pacbound_cli")
        and package_of(module) != package_of(imported)
    ]


def test_every_package_has_a_place_in_the_order() -> None:
    assert {package_of(module) for module in MODULES} == set(HEIGHT)


def test_no_import_points_upward() -> None:
    upward = {
        (module, imported)
        for module, imported in crossings()
        if HEIGHT[package_of(imported)] > HEIGHT[package_of(module)]
    }
    assert upward - KNOWN_EXCEPTIONS == set()
    assert KNOWN_EXCEPTIONS - upward == set(), "an exception is gone: take it off the list"


def test_packages_have_no_cycles() -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    for module, imported in crossings():
        if (module, imported) not in KNOWN_EXCEPTIONS:
            graph[package_of(module)].add(package_of(imported))
    left = {package: set(below) for package, below in graph.items()}
    while leaves := {below for group in left.values() for below in group} - left.keys():
        left = {package: group - leaves for package, group in left.items()}
        left = {package: group for package, group in left.items() if group}
    assert left == {}, "these packages import each other in a circle"


def test_only_the_command_line_imports_experiments() -> None:
    importers = {
        package_of(module)
        for module, imported in crossings()
        if package_of(imported) == "experiments"
    }
    assert importers == {"pacbound_cli"}


def test_the_checker_imports_the_standard_library_alone() -> None:
    names = {name.partition(".")[0] for name in imports("pacbound.certificate.checker")}
    assert names <= sys.stdlib_module_names


def test_nothing_of_the_checkers_formulas_or_lists_is_used_elsewhere() -> None:
    """The issuer has its own, and a test compares the two: others ask for a verdict."""
    verdicts = {"MAX_BYTES", "Verdict", "check_file", "verify"}
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "pacbound.certificate.checker"
            for alias in node.names
        } | {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "checker"
        }
        assert used <= verdicts, module
