"""Programs of several ranks: on a model of `torch.distributed`, or in real processes.

A function of the ranks takes `dist` first. In a check that is a model of the module
`torch.distributed`, which knows who waits for whom; `launch` starts one process per
rank and passes the module itself. `measured` launches a function that times others, one
GPU per rank.
"""

from weft.ranks.measurement import Log, Measured, measured
from weft.ranks.processes import RanksFailed, launch
from weft.ranks.timeline import timeline

__all__ = ["Log", "Measured", "RanksFailed", "launch", "measured", "timeline"]
