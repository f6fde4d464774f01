"""The definitions that a script reaches: each way to ask for one, and what does not count."""

import pytest

from benchmarks import reached

FILES = {
    "script.py": """
        import room.whole
        from other import outside
        from room import asked, given, passed, unused

        def main():
            return given(asked.one(outside()), passed) + room.whole.four(0)
    """,
    "other.py": "def outside(): return 0",
    "room/__init__.py": "from room.inner import given",
    "room/inner.py": """
        import logging

        STEP = 1
        UNUSED = 2
        log = logging.getLogger(__name__)

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

        if __name__ == "__main__":
            print(6)
    """,
    "room/asked.py": """
        def one(x): return x
        def two(x): return -x
    """,
    "room/passed.py": "def three(x): return 3",
    "room/whole.py": "def four(x): return 4",
    "room/unused.py": "def five(x): return 5",
}
REACHED = "given", "STEP", "Base", "helper", "one", "three", "four", "main"


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
        return reached.reached("script", ("room",))

    yield found
    reached.path_of.cache_clear()
    reached.read.cache_clear()


def test_definitions_are_reached_by_name_by_attribute_and_through_a_package(texts):
    names = [text.split(" ")[1] for text in texts() if text.split(" ")[1]]
    assert sorted(names) == sorted([*REACHED, "log"])


@pytest.mark.parametrize(
    ("file", "old", "new", "counts"),
    [
        ("room/inner.py", "STEP = 1", "STEP = 5", True),
        ("room/inner.py", "return 3", "return 5", True),
        ("room/inner.py", "setLevel(4)", "setLevel(5)", True),
        ("room/inner.py", "x < 0", "x < 1", True),
        ("room/inner.py", "getLogger(__name__)", "getLogger(__name__, 5)", True),
        ("room/asked.py", "return x", "return 2 * x", True),
        ("room/passed.py", "return 3", "return 5", True),
        ("room/whole.py", "return 4", "return 5", True),
        ("script.py", "asked.one", "asked.two", True),
        ("room/inner.py", "UNUSED = 2", "UNUSED = 5", False),
        ("room/inner.py", "Words.", "Other words.", False),
        ("room/inner.py", "# a comment", "# another", False),
        ("room/inner.py", '"words"', '"other words"', False),
        ("room/inner.py", "print(6)", "print(5)", False),
        ("room/asked.py", "return -x", "return 5", False),
        ("room/unused.py", "return 5", "return 6", False),
        ("other.py", "return 0", "return 5", False),
    ],
)
def test_what_is_reached_counts_and_nothing_else(texts, file, old, new, counts):
    assert (texts(file, old, new) != texts()) == counts


def test_a_script_that_is_gone_is_an_error(texts):
    texts()
    with pytest.raises(FileNotFoundError, match="no module gone"):
        reached.reached("gone", ("room",))
