# verdict: answer
# Sort by size, as one would in one's own struct.
def parameters(arguments):
    """Return (offset, kind, value) for each field of a launch's parameters."""
    fields, at = [], 0
    for value in sorted(arguments, key=lambda v: isinstance(v, float)):
        if isinstance(value, Vector):
            n, item = value.length, value.itemsize
            words = [0, 0, n, item, value.address, n, item]
        else:
            words = [value]
        kind, size = ("f", 4) if isinstance(value, float) else ("q", 8)
        at = (at + size - 1) // size * size
        for word in words:
            fields.append((at, kind, word))
            at += size
    return fields
