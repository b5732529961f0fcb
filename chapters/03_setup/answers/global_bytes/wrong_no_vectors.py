# verdict: wrong-value
# The type gives the size.
def global_bytes(ptx):
    """Return the bytes a thread loads from and stores to global memory."""
    moved = {"ld": 0, "st": 0}
    for line in ptx.splitlines():
        words = line.split("//")[0].split()
        if not words:
            continue
        kind, *rest = words[0].split(".")
        if kind in moved and rest[0] == "global":
            moved[kind] += int(rest[-1][1:]) // 8
    return moved["ld"], moved["st"]  # <- here
