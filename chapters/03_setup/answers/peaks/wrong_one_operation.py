# verdict: wrong-value
# One instruction is one operation.
def peaks(gpu):
    """Return (GB/s, GFLOP/s) from sms, lanes, khz, memory_khz and bus_bits."""
    bandwidth = 2 * gpu["memory_khz"] * 1e3 * gpu["bus_bits"] / 8
    arithmetic = gpu["sms"] * gpu["lanes"] * gpu["khz"] * 1e3
    return bandwidth / 1e9, arithmetic / 1e9  # <- here
