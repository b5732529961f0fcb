"""A ladder as cloth: thirty-two warp threads, and a weft for each kernel.

A weft reaches as far across the warp as its kernel reaches towards the ceiling.
Over and under alternate, as in plain weave.
"""

from html import escape

from .results import Row

THREADS = 32
PITCH = 10.0  # from one warp thread to the next; all lengths in these units
WARP = 4.0  # a warp thread's width
HEIGHT = 24.0  # of one line of cloth
WEFT = 13.0  # a weft's thickness
GAP = 1.0  # left free where one thread passes under another
TAIL = 5.0  # of a weft, before the first warp thread
LEAST = 1.5  # a piece of weft shorter than this is not drawn

Box = tuple[float, float, float, float]  # x, y, width, height


def threads(number: int, share: float) -> tuple[list[Box], list[Box]]:
    """Return the visible pieces of the warp and of the weft in one line of cloth.

    number: of the line, from 0; share: how far the weft reaches, 0 to 1.
    """
    # The share counts from the edge of the cloth, the tail does not count.
    reach = THREADS * PITCH * min(max(share, 0.0), 1.0)
    top, bottom = (HEIGHT - WEFT) / 2, (HEIGHT + WEFT) / 2
    warp: list[Box] = []
    weft: list[Box] = []
    start = -TAIL
    for thread in range(THREADS):
        left = thread * PITCH + (PITCH - WARP) / 2
        right = left + WARP
        over = (thread + number) % 2 == 0  # the weft passes over this thread
        if over and reach > left:
            warp.append((left, 0.0, WARP, top - GAP))
            warp.append((left, bottom + GAP, WARP, HEIGHT - bottom - GAP))
        else:
            warp.append((left, 0.0, WARP, HEIGHT))
        if not over:
            end = min(left - GAP, reach)
            if end - start > LEAST:
                weft.append((start, top, end - start, WEFT))
            start = right + GAP
    if reach - start > LEAST:
        weft.append((start, top, reach - start, WEFT))
    return warp, weft


def path(boxes: list[Box]) -> str:
    return "".join(f"M{x:g} {y:g}h{w:g}v{h:g}h{-w:g}z" for x, y, w, h in boxes)


def line(number: int, row: Row, share: str) -> str:
    """Return one line of the cloth as a list item: name, threads, share."""
    warp, weft = threads(number, row.ceiling or 0.0)
    mark = ' class="weft-baseline"' if row.name == row.baseline else ""
    return (
        f'<li{mark}><span class="weft-name">{escape(row.name)}</span>'
        f'<svg viewBox="{-TAIL:g} 0 {THREADS * PITCH + TAIL:g} {HEIGHT:g}"'
        ' preserveAspectRatio="none"'
        f' aria-hidden="true"><path class="warp" d="{path(warp)}"/>'
        f'<path class="pick" d="{path(weft)}"/></svg>'
        f'<span class="weft-share">{share}</span></li>'
    )
