"""The digest of the code on which kept numbers depend.

Takes the name of a module of combred; gives a digest of it, of each module of combred that it
reaches by imports, and of the C++ sources. Comments, docstrings and blanks do not count.
"""

import ast
import hashlib
import re
from functools import cache
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).parents[2]  # the folder that holds the package
PACKAGE = Path(__file__).parents[1].name
# Of C++: a comment, or a literal, which stays.
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
SOURCES = ".hpp", ".cpp", ".h", ".cu"


@cache
def code_digest(module: str, root: Path = ROOT) -> str:
    """The digest of what a module reaches in the package under `root`."""
    texts, queue = {}, [module]
    while queue:
        name = queue.pop()
        path = _path(name, root)
        if name not in texts and path.is_file():
            tree = ast.parse(path.read_text())
            texts[name] = _text_of(compile(tree, name, "exec", optimize=2))
            queue += _imported(tree)
    texts |= {
        path.name: essence(path)
        for path in (root / PACKAGE / "native/source").rglob("*")
        if path.suffix in SOURCES
    }
    return hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest()[:16]


def essence(path: Path) -> str:
    """The text of a source in C++ without comments and blanks."""
    return " ".join(COMMENT.sub(lambda match: match[1] or " ", path.read_text()).split())


def _path(module: str, root: Path) -> Path:
    """The file of a module, which may not be there."""
    path = root / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imported(tree: ast.Module) -> set[str]:
    """The names of modules of the package that are imported anywhere in a module, and of what is
    imported of them, which may be modules too."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.split(".")[0] == PACKAGE}


def _text_of(code: CodeType) -> str:
    """Compiled code as text: its instructions and what they refer to, without numbers of lines."""
    constants = [
        _text_of(x) if isinstance(x, CodeType) else repr(sorted(map(repr, x)))
        if isinstance(x, frozenset) else repr(x)
        for x in code.co_consts
    ]  # fmt: skip
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return repr((code.co_code, code.co_exceptiontable, names, constants))
