"""What the figure on scans shows, against both scans done with sets."""

from itertools import pairwise

import pytest
from test_schedules import called

N = 16
Cell = frozenset[int]


def hillis_steele() -> list[tuple[list[Cell], int]]:
    """Return the cells and the additions after each step."""
    cells = [frozenset({i}) for i in range(N)]
    shown, gap = [(cells, 0)], 1
    while gap < N:
        cells = [c | cells[t - gap] if t >= gap else c for t, c in enumerate(cells)]
        shown.append((cells, shown[-1][1] + N - gap))
        gap *= 2
    return shown


def blelloch() -> list[tuple[list[Cell], int]]:
    """Return the cells and the additions after each step, as `scan_tree` makes them."""
    cells, done, gap = [frozenset({i}) for i in range(N)], 0, 1
    shown = [(list(cells), done)]
    while gap < N:
        for end in range(2 * gap - 1, N, 2 * gap):
            cells[end] |= cells[end - gap]
            done += 1
        shown.append((list(cells), done))
        gap *= 2
    cells[N - 1] = frozenset()
    shown.append((list(cells), done))
    while gap > 1:
        gap //= 2
        for right in range(2 * gap - 1, N, 2 * gap):
            half, cells[right - gap] = cells[right - gap], cells[right]
            cells[right] |= half
            done += 1
        shown.append((list(cells), done))
    return shown


@pytest.mark.parametrize("method", ["steps", "tree"])
def test_each_cell_is_the_sum_that_is_shown(method: str) -> None:
    wanted = hillis_steele() if method == "steps" else blelloch()
    found = called("scan_rules", *[("after", method, k) for k in range(len(wanted))])
    for shown, (cells, additions) in zip(found, wanted, strict=True):
        assert [frozenset(range(*c)) for c in shown["cells"]] == cells
        assert shown["all"] == additions


def test_the_last_step_is_a_scan() -> None:
    steps, tree = hillis_steele()[-1], blelloch()[-1]
    assert steps[0] == [frozenset(range(i + 1)) for i in range(N)]
    assert tree[0] == [frozenset(range(i)) for i in range(N)]
    assert (steps[1], tree[1]) == (49, 30)
    assert all(a < b for a, b in pairwise(steps[0]))
