"""The verdict on source text that Python cannot compile."""

from types import CodeType

from weft.checking.verdict import Failed, Verdict
from weft.places import Place
from weft.wording import sentence


def readable(name: str, source: str, file: str) -> CodeType:
    """Compile the source of an exercise. Raises `Failed` if it is not valid Python.

    file: the file name for Python's messages.
    """
    try:
        return compile(source, file, "exec")
    except (SyntaxError, ValueError) as error:  # a null byte is a ValueError
        raise Failed(unreadable(name, source, error)) from None


def unreadable(name: str, source: str, error: Exception) -> Verdict:
    """Return the verdict on source that Python refuses, with the offending line."""
    line = getattr(error, "lineno", None) or 0
    lines = source.splitlines()
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    said = getattr(error, "msg", None) or str(error)
    return Verdict(
        name,
        "exception",
        sentence(said),
        "",
        [(Place(name, line, text), "")] if line else [],
        headline="Python cannot read it",
    )
