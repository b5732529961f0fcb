# verdict: pass
# Look the element up in a layout from (lane, number) to the element.
def table(shape, stride):
    """Return the index of each coordinate, the first one running fastest."""
    found = [0]
    for size, step in zip(shape, stride):
        found = [index + step * i for i in range(size) for index in found]
    return found


HELD = {
    "a": table((4, 8, 2, 2, 2), (32, 1, 16, 8, 128)),
    "b": table((4, 8, 2, 2), (2, 16, 1, 8)),
    "c": table((4, 8, 2, 2), (32, 1, 16, 8)),
}


def owner(matrix, row, col):
    """Return the lane that holds an element, and its number in the fragment."""
    place = HELD[matrix].index(row + 16 * col)
    return place % 32, place // 32
