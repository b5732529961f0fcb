# verdict: pass
# A running product from the right, put back in place.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps."""
    sizes = np.array([shape[dim] for dim in order] + [1])
    products = np.cumprod(sizes[::-1])[::-1][1:]
    strides = np.empty(len(shape), dtype=np.int64)
    strides[list(order)] = products
    return strides
