"""What PyTorch's profiler sees of the springs, and of steps of training.

python timeline.py [TRACE.json]: the trace is for chrome://tracing and for a drawing.
"""

import sys

import torch
from numba import cuda
from programs import springs
from torch.profiler import ProfilerActivity, profile, record_function

BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


def ranges(seen, names):
    """Print for each named range: its time, its kernels, and their time together."""
    events = list(seen.events())
    on_device = [e for e in events if e.device_type.name == "CUDA"]
    print(f"{'range':<12}{'all, µs':>10}{'kernels':>10}{'in kernels, µs':>17}")
    for name in names:
        whole = next(
            e.time_range
            for e in events
            if e.name == name and e.device_type.name == "CPU"
        )
        inside = [
            e.time_range.elapsed_us()
            for e in on_device
            if whole.start <= e.time_range.start < whole.end and e.name not in names
        ]
        total = sum(inside)
        print(f"{name:<12}{whole.elapsed_us():>10.0f}{len(inside):>10}{total:>17.0f}")


def of_springs(path):
    works = springs()
    chain = works["one_step"]
    chain()
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        chain(cuda.external_stream(side.cuda_stream))
    once = works["all_steps"]
    works = {"64 launches": chain, "graph": graph.replay, "one launch": once}
    with profile(activities=BOTH, acc_events=True) as seen:
        for work in works.values():  # warm: the profiler's first look is slow
            work()
        torch.cuda.synchronize()
        for name, work in works.items():
            with record_function(name):
                work()
                torch.cuda.synchronize()
    ranges(seen, works)
    if path:
        seen.export_chrome_trace(path)


def of_training():
    model = torch.nn.Sequential(
        torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)
    ).cuda()
    update = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.rand(256, 512, device="cuda")
    y = torch.randint(10, (256,), device="cuda")

    def step():
        with record_function("forward"):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        with record_function("backward"):
            loss.backward()
        with record_function("update"):
            update.step()
            update.zero_grad()
        return loss

    for _ in range(10):
        step().item()
    steps = 10
    with profile(activities=BOTH, acc_events=True) as seen:
        step().item()  # warm
        for _ in range(steps):
            with record_function("step"):
                step().item()
    rows = [e for e in seen.key_averages() if e.device_type.name == "CPU"]
    rows = [e for e in rows if e.key != "Activity Buffer Request"]  # the profiler's
    rows.sort(key=lambda e: -e.cpu_time_total)
    print(f"{'':<36}{'calls':>7}{'host, µs':>10}{'GPU, µs':>10}")
    for e in rows[:14]:
        host, gpu = e.cpu_time_total / e.count, e.device_time_total / e.count
        name = e.key if len(e.key) < 36 else e.key[:34] + "…"
        print(f"{name:<36}{e.count:>7}{host:>10.0f}{gpu:>10.1f}")
    print("(times of one call; a range contains what is called in it)")


if __name__ == "__main__":
    of_springs(sys.argv[1] if len(sys.argv) > 1 else "")
    print()
    of_training()
