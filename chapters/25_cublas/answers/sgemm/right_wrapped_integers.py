# verdict: pass
# Wrap each address in a c_void_p instead of declaring argtypes.
def sgemm(
    library, handle, transa, transb, m, n, k,
    alpha, a, lda, b, ldb, beta, c, ldc,
):  # fmt: skip
    """Call cublasSgemm_v2. Raises an exception for a status other than 0."""
    scalars = (c_float * 2)(alpha, beta)
    first = ctypes.addressof(scalars)
    status = library.cublasSgemm_v2(
        c_void_p(handle), transa, transb, m, n, k, c_void_p(first),
        c_void_p(a), lda, c_void_p(b), ldb, c_void_p(first + 4), c_void_p(c), ldc,
    )
    if status:
        raise OSError(f"cublasSgemm: {status}")
