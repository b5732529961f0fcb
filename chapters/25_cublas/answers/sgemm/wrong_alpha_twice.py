# verdict: wrong-value
# Pass alpha where beta belongs.
def sgemm(
    library, handle, transa, transb, m, n, k,
    alpha, a, lda, b, ldb, beta, c, ldc,
):  # fmt: skip
    """Call cublasSgemm_v2. Raises an exception for a status other than 0."""
    address, integer = c_void_p, c_int
    library.cublasSgemm_v2.argtypes = [
        *(address, integer, integer, integer, integer, integer),
        *(address, address, integer, address, integer),
        *(address, address, integer),
    ]

    scale = c_float(alpha)
    checked(
        library.cublasSgemm_v2(  # <- here
            handle, transa, transb, m, n, k, byref(scale), a, lda, b, ldb,
            byref(scale), c, ldc,
        )
    )
