"""An MLP on a mesh of ranks: where the parts of each tensor are.

torchrun --nproc-per-node=4 mesh.py, on a CPU. Prints a table.
"""

# begin: mesh
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

torch.manual_seed(28)  # the same tensors on all ranks
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("batch", "layers"))
x, w1, w2 = torch.randn(6, 8), torch.randn(8, 10), torch.randn(10, 8)
dx = distribute_tensor(x, mesh, [Shard(0), Replicate()])
dw1 = distribute_tensor(w1, mesh, [Replicate(), Shard(1)])
dw2 = distribute_tensor(w2, mesh, [Replicate(), Shard(0)])

hidden = torch.relu(dx @ dw1)
y = hidden @ dw2
whole = y.redistribute(mesh, [Shard(0), Replicate()])
# end: mesh

torch.testing.assert_close(whole.full_tensor(), torch.relu(x @ w1) @ w2)
if torch.distributed.get_rank() == 0:
    print(f"# torch {torch.__version__.partition('+')[0]}, on a CPU\n")
    print(f"{'':10}{'shape':11}{'of rank 0':13}placements")
    tensors = dx, dw1, dw2, hidden, y, whole
    names = "dx", "dw1", "dw2", "hidden", "y", "whole"
    for name, tensor in zip(names, tensors, strict=True):
        own = tuple(tensor.to_local().shape)
        places = ", ".join(map(str, tensor.placements))
        print(f"{name:10}{tuple(tensor.shape)!s:11}{own!s:13}{places}")
torch.distributed.destroy_process_group()
