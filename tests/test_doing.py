"""The line below a cell that takes long."""

import time
from types import SimpleNamespace
from typing import Any

import nbformat
from nbclient import NotebookClient

import weft  # noqa: F401  before Numba
from weft import doing
from weft.checking.exercise import Exercise


class Shell:
    """As much of IPython as the line needs; `shown` is what its notebook shows."""

    kernel = object()

    def __init__(self) -> None:
        self.shown: list[tuple[str, bool]] = []
        self.heard: dict[str, Any] = {}
        self.events = SimpleNamespace(register=self.heard.__setitem__)
        self.display_pub = SimpleNamespace(publish=self._publish)

    def _publish(self, data: dict[str, str], *, update: bool, **_: Any) -> None:
        self.shown.append((data["text/plain"], update))

    def run(self, cell: str, until: int) -> set[str]:
        """Run a cell that ends after `until` lines were shown; return their texts."""
        self.shown.clear()
        self.heard["pre_run_cell"](SimpleNamespace(raw_cell=cell))
        doing.now("vector_add: size 2 of 5")
        while len(self.shown) < until:
            time.sleep(0.001)
        self.heard["post_run_cell"](None)
        *lines, last = self.shown
        assert last == ("", True), "the line is taken away"
        assert [update for _, update in lines] == [False, *[True] * (len(lines) - 1)]
        return {text for text, _ in lines}


def test_a_long_cell_says_what_it_does_until_it_ends() -> None:
    shell = Shell()
    doing.watch(shell, late=0.05, every=0.001)
    assert "vector_add: size 2 of 5 · 0 s" in shell.run("check(...)", until=2)
    again = shell.run("check(...)", until=1)
    assert "vector_add: size 2 of 5 · 0 s · 0 s the last time" in again


def test_a_short_cell_says_nothing() -> None:
    shell = Shell()
    doing.watch(shell, late=1000)
    shell.heard["pre_run_cell"](SimpleNamespace(raw_cell="1 + 1"))
    shell.heard["post_run_cell"](None)
    assert shell.shown == []


def test_a_terminal_is_not_watched() -> None:
    shell = Shell()
    shell.kernel = None
    doing.watch(shell)
    assert shell.heard == {}


def test_a_count_begins_anew_with_each_cell() -> None:
    shell = Shell()
    doing.watch(shell, late=1000)
    for _ in range(2):
        shell.heard["pre_run_cell"](SimpleNamespace(raw_cell="search()"))
        for _ in range(13):
            doing.again("measurement")
        assert doing._what == "measurement 13"
        shell.heard["post_run_cell"](None)


def test_an_exercise_says_which_size_it_is_at() -> None:
    exercise = Exercise(
        written_by_learner=abs,
        spec=abs,
        inputs=lambda rng, n: rng.random(n),
        sizes=[3, 5],
    )
    exercise.case(5)
    assert doing._what == "abs: size 2 of 2"
    exercise.case(7)
    assert doing._what == "abs: a size that is not listed"


def test_times_are_in_words() -> None:
    assert [doing.duration(s) for s in (0.2, 12.4, 59.7, 125)] == [
        "0 s",
        "12 s",
        "1 min 0 s",
        "2 min 5 s",
    ]


def test_the_line_is_below_the_cell_that_runs() -> None:
    """In a real kernel, whose threads have to find the right cell."""
    cells = [
        "from weft import doing; doing.watch(get_ipython(), 0.01, 0.01)",
        "import time; doing.now('a search'); time.sleep(0.5)",
        "print('next')",
    ]
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
    )
    NotebookClient(book, timeout=120).execute()
    first, second, third = (cell.outputs for cell in book.cells)
    assert [out.output_type for out in second] == ["display_data"]
    assert second[0].data == {"text/plain": "", "text/html": ""}
    assert [out.output_type for out in (*first, *third)] == ["stream"]
