# verdict: wrong-value
# Look for the name anywhere in the line.
def global_bytes(ptx):
    """Return the bytes a thread loads from and stores to global memory."""
    moved = {"ld": 0, "st": 0}
    for line in ptx.splitlines():
        for word in line.split():
            kind, *rest = word.split(".")
            if kind in moved and rest and rest[0] == "global":
                values = int(rest[-2][1]) if rest[-2] in ("v2", "v4") else 1
                moved[kind] += values * int(rest[-1][1:]) // 8
    return moved["ld"], moved["st"]  # <- here
