# verdict: pass
# Decode every number first, and then multiply.
def scaled_dot(a, b):
    """Return the dot product of two block-scaled vectors."""

    def decoded(v):
        return [
            formats.E2M1[code] * v.scales[i // v.block] * v.tensor
            for i, code in enumerate(v.codes)
        ]

    return sum(x * y for x, y in zip(decoded(a), decoded(b), strict=True))
