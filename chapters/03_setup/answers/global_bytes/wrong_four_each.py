# verdict: wrong-value
# Every value is a float32.
def global_bytes(ptx):
    """Return the bytes a thread loads from and stores to global memory."""
    return 4 * ptx.count("ld.global"), 4 * ptx.count("st.global")  # <- here
