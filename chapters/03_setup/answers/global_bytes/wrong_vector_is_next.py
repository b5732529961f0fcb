# verdict: wrong-value
# The vector size comes right after global, if there is one.
def global_bytes(ptx):
    """Return the bytes a thread loads from and stores to global memory."""
    moved = {"ld": 0, "st": 0}
    for line in ptx.splitlines():
        words = line.split("//")[0].split()
        if not words:
            continue
        kind, *rest = words[0].split(".")
        if kind in moved and rest[0] == "global":
            values = int(rest[1][1]) if rest[1] in ("v2", "v4") else 1
            moved[kind] += values * int(rest[-1][1:]) // 8
    return moved["ld"], moved["st"]  # <- here
