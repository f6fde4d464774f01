"""The definitions that a script reaches: each way to ask for one, and what does not count."""

import pytest

from benchmarks import reached

FILES = {
    "script.py": """
        import room.whole
        from other import outside
        from room import asked, given, passed

        def main():
            return given(asked.one(outside()), passed)
    """,
    "other.py": "def outside(): return 0",
    "room/__init__.py": "from room.inner import given",
    "room/inner.py": """
        import logging

        STEP = 1
        UNUSED = 2
        log = logging.getLogger()

        def given(x, y, step=STEP):
            '''Words.'''  # a comment
            if x < 0:
                raise ValueError("words")
            return Base

        class Base:
            def method(self):
                return helper()

        def helper(): return 3
        def alone(): return UNUSED

        log.setLevel(4)
    """,
    "room/asked.py": """
        def one(x): return x
        def two(x): return -x
    """,
    "room/passed.py": "def three(x): return 3",
    "room/whole.py": "def four(x): return 4",
}
REACHED = "given", "STEP", "Base", "helper", "one", "three", "main"


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """A function: the texts with one part of a file changed."""
    monkeypatch.setattr(reached, "ROOT", tmp_path)

    def found(file: str = "script.py", old: str = "", new: str = "") -> list[str]:
        reached.path_of.cache_clear()
        reached.read.cache_clear()
        for name, text in FILES.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            assert name != file or old in text
            lines = (text.replace(old, new) if name == file and old else text).splitlines()
            (tmp_path / name).write_text("\n".join(line.removeprefix(" " * 8) for line in lines))
        return reached.reached(["script"], ("room",), ())

    yield found
    reached.path_of.cache_clear()
    reached.read.cache_clear()


def test_definitions_are_reached_by_name_by_attribute_and_through_a_package(texts):
    names = [text.split(" ")[1] for text in texts() if text.split(" ")[1]]
    assert sorted(names) == sorted([*REACHED, "log"])


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("room/inner.py", "STEP = 1", "STEP = 5"),
        ("room/inner.py", "return 3", "return 5"),
        ("room/inner.py", "setLevel(4)", "setLevel(5)"),
        ("room/inner.py", "x < 0", "x < 1"),
        ("room/asked.py", "return x", "return 2 * x"),
        ("room/passed.py", "return 3", "return 5"),
        ("script.py", "asked.one", "asked.two"),
    ],
)
def test_what_is_reached_counts(texts, file, old, new):
    assert texts(file, old, new) != texts()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("room/inner.py", "UNUSED = 2", "UNUSED = 5"),
        ("room/inner.py", "Words.", "Other words."),
        ("room/inner.py", "# a comment", "# another"),
        ("room/inner.py", '"words"', '"other words"'),
        ("room/asked.py", "return -x", "return 5"),
        ("room/whole.py", "return 4", "return 5"),
        ("other.py", "return 0", "return 5"),
    ],
)
def test_what_is_not_reached_does_not(texts, file, old, new):
    assert texts(file, old, new) == texts()


def test_a_script_that_is_gone_is_an_error(texts):
    texts()
    with pytest.raises(FileNotFoundError, match="no module gone"):
        reached.reached(["gone"], ("room",), ())
