"""Docstrings of this project as reStructuredText for autodoc.

Docstrings are written as plain text: `name` is code, an indented block is kept as it stands, and
`|v|`, `x*` or `x_` mean themselves. Takes the lines of a docstring; gives lines that Sphinx reads
without a warning.
"""

import re

ITEM = re.compile(r"^(?:[-*]|\d+\.) +")
CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)


def process(app, what, name, obj, options, lines: list[str]) -> None:
    """Handler of autodoc's event `autodoc-process-docstring`: changes `lines` in place."""
    lines[:] = to_rst(lines)


def to_rst(lines: list[str]) -> list[str]:
    """The lines of a docstring, dedented, as reStructuredText."""
    found: list[str] = []
    for block in _blocks(lines):
        indent, first = _indent(block[0]), block[0].strip()
        if ITEM.match(first) and indent == 0:
            found += _items(block)
        elif indent > 0:
            found += ["::", "", *("    " + line[indent:] if line else "" for line in block), ""]
        else:
            found += [_inline("\n".join(line.strip() for line in block)), ""]
    return "\n".join(found).split("\n")


def _blocks(lines: list[str]) -> list[list[str]]:
    """Paragraphs, lists and indented blocks, in order; an indented block keeps its blank lines."""
    blocks: list[list[str]] = []
    open_block = False
    for line in (line.rstrip() for line in lines):
        if not line:
            open_block = False
            continue
        last = blocks[-1] if blocks else []
        is_list = bool(last) and bool(ITEM.match(last[0]))
        inside, was_inside = _indent(line) > 0, bool(last) and _indent(last[0]) > 0
        if is_list and (inside or (open_block and not was_inside) or ITEM.match(line)):
            last.append(line)
        elif inside and was_inside:
            last += [line] if open_block else ["", line]
        elif open_block and inside == was_inside and not ITEM.match(line):
            last.append(line)
        else:
            blocks.append([line])
        open_block = True
    return blocks


def _items(block: list[str]) -> list[str]:
    """A list: each item with its continuation lines."""
    items: list[list[str]] = []
    for line in block:
        if ITEM.match(line):
            items.append([ITEM.sub("", line)])
        else:
            items[-1].append(line.strip())
    return [part for item in items for part in (f"- {_inline(' '.join(item))}", "")]


def _inline(text: str) -> str:
    """Text with its code marked, and all else that reStructuredText would interpret escaped."""
    parts, end = [], 0
    for match in CODE.finditer(text):
        parts += [_escaped(text[end : match.start()]), f"\\ ``{match[2].strip()}``\\ "]
        end = match.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_|`])", r"\\\1", text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
