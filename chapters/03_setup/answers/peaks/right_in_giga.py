# verdict: pass
# Convert kHz to GHz and bits to bytes first.
def peaks(gpu):
    """Return (GB/s, GFLOP/s) from sms, lanes, khz, memory_khz and bus_bits."""
    clock, memory = gpu["khz"] / 1e6, gpu["memory_khz"] / 1e6
    return memory * 2 * (gpu["bus_bits"] // 8), gpu["sms"] * gpu["lanes"] * 2 * clock
