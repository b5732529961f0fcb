# verdict: pass
# Shifts and masks.
def owner(matrix, row, col):
    """Return (lane, number) of an element of a fragment of m16n8k16."""
    if matrix == "b":
        row, col = col, row  # along k are the columns now
        return row << 2 | col >> 1 & 3, (col >> 3) << 1 | col & 1
    lane = (row & 7) << 2 | col >> 1 & 3
    return lane, (col >> 3) << 2 | (row >> 3) << 1 | col & 1
