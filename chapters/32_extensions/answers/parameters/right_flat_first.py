# verdict: pass
# First make a list of all words, then find their places.
def parameters(arguments):
    """Return (offset, kind, value) for each field of a launch's parameters."""
    words = []
    for value in arguments:
        if isinstance(value, Vector):
            address, n, item = value
            words.extend((0, 0, n, item, address, n, item))
        else:
            words.append(value)
    at, fields = 0, []
    for word in words:
        size = 4 if type(word) is float else 8
        at += -at % size
        fields.append((at, "f" if size == 4 else "q", word))
        at += size
    return fields
