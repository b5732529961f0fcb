"""How far our verdicts and counters agree with NVIDIA's tools, measured on a GPU."""
