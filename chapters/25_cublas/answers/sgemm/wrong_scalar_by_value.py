# verdict: prototype
# A float is passed as a float.
def sgemm(
    library, handle, transa, transb, m, n, k,
    alpha, a, lda, b, ldb, beta, c, ldc,
):  # fmt: skip
    """Call cublasSgemm_v2. Raises an exception for a status other than 0."""
    address, integer = c_void_p, c_int
    library.cublasSgemm_v2.argtypes = [
        address, integer, integer, integer, integer, integer, c_float,
        address, integer, address, integer, c_float, address, integer,
    ]
    checked(
        library.cublasSgemm_v2(  # <- here
            handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
        )
    )
