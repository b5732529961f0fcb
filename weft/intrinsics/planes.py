"""TMA for a stack of matrices: boxes of one of them. None is simulated.

PTX ISA, "cp.async.bulk.tensor" with three coordinates. Rows past the end of a matrix
are zeros when loaded and are left alone when stored, also where another matrix follows.
"""

from weft.intrinsics.hopper import _register
from weft.intrinsics.instructions import MAP, NUMBER, SHARED, instruction

tma_load_plane = _register(
    "tma_load_plane",
    """Start to load a box: `(tile, i, stack_map, col, row, plane, bars, s)`.

    As `tma_load`, from matrix `plane` of a stack.
    """,
    instruction(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes [$0], [$1, {$2, $3, $4}], [$5];",
        SHARED,
        MAP,
        NUMBER,
        NUMBER,
        NUMBER,
        SHARED,
    ),
)
tma_store_plane = _register(
    "tma_store_plane",
    """Start to store a box: `(stack_map, col, row, plane, tile, i)`.

    As `tma_store`, to matrix `plane` of a stack.
    """,
    instruction(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
        "[$0, {$1, $2, $3}], [$4];",
        MAP,
        NUMBER,
        NUMBER,
        NUMBER,
        SHARED,
    ),
)
