"""The code in Python that a script can reach: what its numbers depend on.

Takes names of modules, and rooms, packages outside which nothing counts; gives the texts of
definitions: functions, classes and assignments at the top of a module. A definition reaches the
names in it, and of a module that it imports the attributes asked of it. Of a module that is used in
another way, each definition counts; statements that are no definitions always do, but for those
that run a module as a program.

Comments, docstrings, blanks and messages of errors are not in a text.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALL, RUN = "*", ""  # names: every definition of a module; its statements that are none
OWN = "benchmarks.kept", "benchmarks.reached"  # which measure nothing
Place = tuple[str, str]  # a module, and a name in it: "" for the module
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = FUNCTIONS | ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class Module:
    """own: texts of the definitions of each name, and what they ask for: names, each with the
    attribute asked of it or `ALL`; imports: where imported names come from."""

    own: dict[str, list[tuple[str, frozenset[Place]]]] = field(default_factory=dict)
    imports: dict[str, Place] = field(default_factory=dict)


def reached(start: str, rooms: tuple[str, ...]) -> list[str]:
    """The texts of the definitions that a module reaches, with their names. Raises
    FileNotFoundError where it is not there."""
    if path_of(start) is None:
        raise FileNotFoundError(f"there is no module {start}")
    queue, seen, found = [(start, ALL)], {(start, ALL)}, dict[Place, str]()
    while queue:
        module, name = queue.pop()
        path = path_of(module)
        within = any(f"{module}.".startswith(f"{room}.") for room in (*rooms, start))
        if path is None or module in OWN or not within:
            continue
        for other in _follow(module, name, read(path), found):
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return [f"{module} {name} {text}" for (module, name), text in sorted(found.items())]


def _follow(module: str, name: str, of: Module, found: dict[Place, str]) -> Iterator[Place]:
    """The places that a name of a module reaches; its text is added to those that are found."""
    if name != RUN:
        yield module, RUN
    if name == ALL:
        yield from ((module, one) for one in of.own)
    elif name in of.own:
        found[module, name] = "\n".join(text for text, _ in of.own[name])
        for asked in frozenset().union(*(names for _, names in of.own[name])):
            yield from _asked(module, asked, of)
    elif name in of.imports:
        yield from _asked(module, (name, ALL), of)


def _asked(module: str, asked: Place, of: Module) -> Iterator[Place]:
    """The place of a name in a module, or of the attribute asked of a module of that name."""
    name, attribute = asked
    if name in of.own:
        yield module, name
    if name in of.imports:
        source, imported = of.imports[name]
        whole = f"{source}.{imported}".rstrip(".")
        if source.startswith(f"{name}."):  # of `import a.b`, where a.b.c is asked of a
            attribute = ALL
        yield (whole, attribute) if path_of(whole) else (source, imported)


@cache
def path_of(module: str) -> Path | None:
    """The file of a module of this repository; None if there is none."""
    path = ROOT / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path if path.is_file() else None


@cache
def read(path: Path) -> Module:
    """The definitions and imports of a file."""
    text, found = path.read_text(), Module()
    tree = ast.parse(text)
    lines = _numbers_alone(text, tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                found.imports[one.asname or one.name.split(".")[0]] = one.name, ""
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                found.imports[one.asname or one.name] = node.module, one.name
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        first = min(one.lineno for one in (node, *decorators))
        content = " ".join(" ".join(lines[first - 1 : node.end_lineno]).split())
        asked = frozenset(_names(node))
        imported = isinstance(node, ast.Import | ast.ImportFrom)
        as_program = isinstance(node, ast.If) and ("__name__", ALL) in asked
        if content and not imported and not as_program:
            for name in _defined(node):
                found.own.setdefault(name, []).append((content, asked))
    return found


def _numbers_alone(text: str, tree: ast.Module) -> list[str]:
    """The lines of a text and its tree, without the parts that cannot change a number."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            i, start = token.start[0] - 1, token.start[1]
            lines[i] = lines[i][:start]
    for node in ast.walk(tree):
        of_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if of_text or isinstance(node, ast.Raise):
            assert isinstance(node, ast.stmt) and node.end_lineno
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return lines


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module defines; `RUN` of any other statement."""
    if isinstance(node, FUNCTIONS):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = [one.id for of in targets if of for one in ast.walk(of) if isinstance(one, ast.Name)]
    return names if isinstance(node, DEFINITIONS) and names else [RUN]


def _names(node: ast.stmt) -> Iterator[Place]:
    """The names in a statement, each with the attribute that is asked of it, or `ALL`."""
    of_attributes = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            of_attributes.add(one.value)
            yield one.value.id, one.attr
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one not in of_attributes:
            yield one.id, ALL
