# verdict: pass
# One pattern for loads and stores.
def global_bytes(ptx):
    """Return the bytes a thread loads from and stores to global memory."""
    ptx = re.sub("//.*", "", ptx)
    found = re.findall(r"\b(ld|st)\.global\S*?(?:\.v(\d))?\.[a-z](\d+)\s", ptx)
    sums = {"ld": 0, "st": 0}
    for kind, values, bits in found:
        sums[kind] += int(values or 1) * int(bits) // 8
    return sums["ld"], sums["st"]
