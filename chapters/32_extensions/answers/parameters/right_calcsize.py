# verdict: pass
# Let struct say where the next field goes.
def parameters(arguments):
    """Return (offset, kind, value) for each field of a launch's parameters."""
    form, fields = "", []
    for value in arguments:
        is_vector = isinstance(value, Vector)
        kind = "f" if isinstance(value, float) else "q"
        n, item = (value.length, value.itemsize) if is_vector else (0, 0)
        words = [0, 0, n, item, value[0], n, item] if is_vector else [value]
        for word in words:
            form += kind
            fields.append((struct.calcsize(form) - struct.calcsize(kind), kind, word))
    return fields
