"""Texts of YAML as nodes, whose scalars keep the letters in which they are written.

Takes the text of a mechanism; gives the nodes that `mechanism_file` looks at, or puts together
again. Cantera reads the text itself.
"""

import contextlib
import re
from itertools import accumulate
from typing import Any

from ruamel.yaml import YAML, YAMLError  # a requirement of Cantera
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from combred.config.fields import require, shown

DEEPEST = 500  # lists in lists
ESCAPED = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4}))"
)


def unescaped(text: str) -> str:
    """A text in which escapes that stand for a letter, or for no character, are resolved."""
    if "\\" not in text:
        return text
    joined = re.sub(r"\\(\r\n?|\n)[ \t]*", "", text)
    return ESCAPED.sub(lambda found: chr(int(found[1] or found[2] or found[3], 16)), joined)


def section(text: str, key: str, only: bool = False) -> Node | None:
    """The value of a key of a text, None where there is none. Where the key begins a line, and, if
    `only`, is nowhere else, the rest of the text is not parsed, which may take a minute."""
    places = re.findall(rf"(?<![\w-]){re.escape(key)}\b", unescaped(text))
    found = re.findall(rf"(?ms)^{re.escape(key)}:.*?(?=^\w|\Z)", text)
    if len(found) == 1 and not (only and len(places) > 1):
        with contextlib.suppress(ValueError):  # as of an alias of another part
            return value_of(compose(found[0]), key)
    return value_of(compose(text), key) if places else None


def compose(text: str) -> Node:
    """The nodes of a text. Raises ValueError where it is no YAML."""
    deep = accumulate(1 if c in "[{" else -1 for c in re.findall(r"[\[\]{}]", text))
    try:
        require(max(deep, default=0) < DEEPEST, "it is no YAML (nested too deeply)")
        return YAML(typ="safe", pure=True).compose(text)
    except (YAMLError, RecursionError) as error:
        mark, reason = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise ValueError(f"it is no YAML ({reason or 'nested too deeply'}{line})") from error


def value_of(node: Node | None, key: str) -> Node | None:
    """The value of a key of a mapping, None where there is none. Raises ValueError where the key is
    there twice: Cantera would take the last."""
    pairs = node.value if isinstance(node, MappingNode) else []
    values = [value for name, value in pairs if name.value == key]
    require(len(values) < 2, f"it has the key {key!r} twice: remove one")
    return values[0] if values else None


def plain(node: Node | None) -> Any:
    """Nodes as dictionaries, lists and text. Raises ValueError where a key is there twice."""
    if isinstance(node, MappingNode):
        keys = [key.value if isinstance(key, ScalarNode) else "" for key, _ in node.value]
        twice = next((key for key in keys if key and keys.count(key) > 1), "")
        require(not twice, f"it has the key {shown(twice)!r} twice: remove one")
        return {key: plain(value) for key, (_, value) in zip(keys, node.value, strict=True)}
    return list(map(plain, node.value)) if isinstance(node, SequenceNode) else node and node.value


def node_of(value: str | dict) -> Node:
    """A node of text, or of a dictionary of such."""
    if isinstance(value, str):
        return ScalarNode("tag:yaml.org,2002:str", value)
    pairs = [(node_of(key), node_of(one)) for key, one in value.items()]
    return MappingNode("tag:yaml.org,2002:map", pairs)


def count(node: Node, known: dict[int, float]) -> float:
    """The number of values of a node, where each alias counts as what it stands for."""
    if id(node) not in known:
        known[id(node)] = float("inf")  # of a node that holds itself
        pairs = node.value if isinstance(node, MappingNode) else [node.value]
        parts = () if isinstance(node, ScalarNode) else (one for pair in pairs for one in pair)
        known[id(node)] = 1.0 + sum(count(one, known) for one in parts)
    return known[id(node)]
