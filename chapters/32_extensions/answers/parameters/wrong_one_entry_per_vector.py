# verdict: answer
# A vector is one entry.
def parameters(arguments):
    """Return (offset, kind, value) for each field of a launch's parameters."""
    fields, at = [], 0
    for value in arguments:
        kind, size = ("f", 4) if isinstance(value, float) else ("q", 8)
        at = (at + size - 1) // size * size
        if isinstance(value, Vector):
            n, item = value.length, value.itemsize
            fields.append((at, "7q", (0, 0, n, item, value.address, n, item)))
            at += 56
        else:
            fields.append((at, kind, value))
            at += size
    return fields
