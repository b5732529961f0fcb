# verdict: wrong-value
# What is neither u8 nor 64 bits wide has 4 bytes.
def global_bytes(ptx):
    """Return the bytes a thread loads from and stores to global memory."""
    moved = {"ld": 0, "st": 0}
    for line in ptx.splitlines():
        name = (line.split("//")[0].split() or [""])[0]
        kind = name[:2]
        if not name.startswith(("ld.global", "st.global")):
            continue
        values = 4 if ".v4" in name else 2 if ".v2" in name else 1
        each = 8 if "64" in name else 1 if "u8" in name else 4
        moved[kind] += values * each
    return moved["ld"], moved["st"]  # <- here
