# verdict: pass
# 21 events: the end of one launch is the start of the next.
def gpu_time(gpu):
    gpu.launch()
    marks = [gpu.event() for _ in range(21)]
    marks[0].record()
    for m in marks[1:]:
        gpu.launch()
        m.record()
    marks[-1].synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in zip(marks, marks[1:]))
