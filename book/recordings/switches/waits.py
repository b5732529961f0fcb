"""Wait for a rank that never arrives, until the watchdog ends both."""

import datetime
import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=10))
x = torch.ones(4, device="cuda")
dist.all_reduce(x)
if rank == 0:
    dist.all_reduce(x)  # rank 1 has left this out
dist.broadcast(x, src=0)
torch.cuda.synchronize()
