# verdict: answer
# The elements are float32, so they have 4 bytes.
def parameters(arguments):
    """Return (offset, kind, value) for each field of a launch's parameters."""
    fields, at = [], 0
    for value in arguments:
        if isinstance(value, Vector):
            n = value.length
            words = [0, 0, n, 4, value.address, n, 4]
        else:
            words = [value]
        kind, size = ("f", 4) if isinstance(value, float) else ("q", 8)
        at = (at + size - 1) // size * size
        for word in words:
            fields.append((at, kind, word))
            at += size
    return fields
