# verdict: wrong-value
# A clock rate is a clock rate, in Hz or in kHz.
def peaks(gpu):
    """Return (GB/s, GFLOP/s) from sms, lanes, khz, memory_khz and bus_bits."""
    bandwidth = 2 * gpu["memory_khz"] * gpu["bus_bits"] / 8
    arithmetic = 2 * gpu["sms"] * gpu["lanes"] * gpu["khz"]
    return bandwidth / 1e9, arithmetic / 1e9  # <- here
