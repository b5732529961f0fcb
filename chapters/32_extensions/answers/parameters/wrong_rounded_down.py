# verdict: answer
# Round the offset down.
def parameters(arguments):
    """Return (offset, kind, value) for each field of a launch's parameters."""
    fields, at = [], 0
    for value in arguments:
        if isinstance(value, Vector):
            n, item = value.length, value.itemsize
            words = [0, 0, n, item, value.address, n, item]
        else:
            words = [value]
        kind, size = ("f", 4) if isinstance(value, float) else ("q", 8)
        at = at // size * size
        for word in words:
            fields.append((at, kind, word))
            at += size
    return fields
