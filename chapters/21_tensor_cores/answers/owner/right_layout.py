# verdict: pass
# Looks the element up in a layout from (lane, number) to the element.
from weft.chapters import Chapter

parse = Chapter("20_layouts").layouts.parse
HELD = {
    "a": parse("((4,8),(2,2,2)):((32,1),(16,8,128))").table(),
    "b": parse("((4,8),(2,2)):((2,16),(1,8))").table(),
    "c": parse("((4,8),(2,2)):((32,1),(16,8))").table(),
}


def owner(matrix, row, col):
    """Return the lane that holds an element, and its number in the fragment."""
    place = HELD[matrix].index(row + 16 * col)
    return place % 32, place // 32
