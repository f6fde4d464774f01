"""The rooms of combred/ import in one direction: from a later room to an earlier one, never back.

The imports are read from the source with `ast`, including those inside functions.
"""

import ast
from pathlib import Path

import combred

# In the order of the flow of data: a room may import the rooms before it.
ROOMS = (
    "kernels", "reduction", "chemistry", "native", "flames", "experiments", "reactors", "cantera",
    "surrogates", "libraries", "validation", "check", "skeletal", "report", "judging", "pipeline",
    "options", "command",
)  # fmt: skip
# The rooms of surrogates, in the same sense.
WITHIN = (
    "model", "files", "library", "dataset", "sampling", "sensitivity", "training", "timing",
)  # fmt: skip
# Any room may import these; they import none of the rooms.
GROUND = (
    "config", "files", "processes", "names", "data", "coupling",
)  # fmt: skip

FOLDER = Path(combred.__file__).parent


def imports(source: str) -> list[str]:
    """The modules of combred that a source imports, without the leading "combred."."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import; give the full name"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name.removeprefix("combred.") for name in names if name.startswith("combred.")]


def allowed(module: tuple[str, ...], name: str) -> bool:
    """Whether a module of combred may import `name`."""
    room, (target, *inner) = module[0], name.split(".")
    if target == room == "surrogates":
        return WITHIN.index(inner[0]) <= WITHIN.index(module[1])
    if target in (room, *GROUND, "__version__"):
        return True
    if target not in ROOMS or room not in ROOMS:
        return False  # a public name of combred, or an import from the ground floor
    return ROOMS.index(target) < ROOMS.index(room)


def violations(folder: Path) -> list[str]:
    """The imports of the package in `folder` that are not allowed, as text."""
    found = []
    for file in sorted(folder.rglob("*.py")):
        module = file.relative_to(folder).with_suffix("").parts
        if module in (("__init__",), ("__main__",)):
            continue  # the public names, which are loaded on demand, and the command
        for name in imports(file.read_text()):
            if not allowed(module, name):
                found.append(f"{'/'.join(module)} imports combred.{name}")
    return found


def test_no_room_imports_a_later_one():
    assert violations(FOLDER) == []


def test_every_module_belongs_to_a_room_or_to_the_ground_floor():
    entries = {path.stem for path in FOLDER.iterdir() if path.suffix == ".py" or path.is_dir()}
    entries -= {"__init__", "__main__", "__pycache__"}
    assert entries <= {*ROOMS, *GROUND}
    assert entries >= {*ROOMS, *GROUND} - {"data", "coupling"}  # at the top of the repository
