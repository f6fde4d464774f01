"""The end of a process, for tests of what goes on after it."""


class Killed(BaseException):
    """Nothing handles it."""
