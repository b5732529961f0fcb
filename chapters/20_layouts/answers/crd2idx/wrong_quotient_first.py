# verdict: wrong-value
# The quotient is the coordinate, and the remainder goes on.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""
    if not isinstance(shape, tuple):
        return coordinate * stride
    if not isinstance(coordinate, tuple):
        parts = []
        for mode in shape[:-1]:
            part, coordinate = divmod(coordinate, layouts.size(mode))
            parts.append(part)
        coordinate = (*parts, coordinate)
    triples = zip(coordinate, shape, stride, strict=True)
    return sum(crd2idx(c, s, d) for c, s, d in triples)  # <- here
