# verdict: wrong-value
# In the second phase, both taps see the middle weight.
def phases(weight):
    """Return the weights of the four phases: (2, 2, out, in, 2, 2)."""
    def split(w, dim):
        w0, w1, w2 = w.unbind(dim)
        return [
            torch.stack([w0, w1 + w2], dim),
            torch.stack([w0 + w1, w1 + w2], dim),
        ]

    return torch.stack(
        [torch.stack(split(rows, 3)) for rows in split(weight, 2)]
    )
