# verdict: prototype
# I forgot one leading dimension, in both places.
def sgemm(
    library, handle, transa, transb, m, n, k,
    alpha, a, lda, b, ldb, beta, c, ldc,
):  # fmt: skip
    """Call cublasSgemm_v2. Raises an exception for a status other than 0."""
    address, integer = c_void_p, c_int
    library.cublasSgemm_v2.argtypes = [
        address, integer, integer, integer, integer, integer, address,
        address, address, integer, address, address, integer,
    ]
    checked(
        library.cublasSgemm_v2(  # <- here
            handle, transa, transb, m, n, k, byref(c_float(alpha)), a, b, ldb,
            byref(c_float(beta)), c, ldc,
        )
    )
