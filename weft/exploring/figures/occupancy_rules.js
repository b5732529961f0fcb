// How many blocks an SM holds at once. The same rules as weft/device/occupancy.py, where
// their sources are; both are held against NVIDIA's by tests/figures/occupancy.json.

export const WARP = 32;
export const REGISTERS = 65536; // of an SM, and the most a block may have
const PARTITIONS = 4; // each with a quarter of the registers
const REGISTER_PIECE = 256; // registers are given to a warp in pieces of so many

/** From 8.0 on, 1 KB of each block's shared memory is the driver's. */
function sm(blocks, warps, shared, old = false) {
  const reserved = old ? 0 : 1024;
  return { blocks, warps, shared: shared * 1024, piece: old ? 256 : 128, reserved };
}

export const LIMITS = {
  7.5: sm(16, 32, 64, true),
  "8.0": sm(32, 64, 164),
  8.6: sm(16, 48, 100),
  8.7: sm(16, 48, 164),
  8.9: sm(24, 48, 100),
  "9.0": sm(32, 64, 228),
  "10.0": sm(32, 64, 228),
  10.3: sm(32, 64, 228),
  "12.0": sm(24, 48, 100),
};

const up = (value, piece) => Math.ceil(value / piece) * piece;

/**
 * Blocks resident on an SM: `allowed` by each resource, and all in all. `uses` says
 * how much of each resource one block takes, `has` how much there is.
 */
export function occupancy({ capability, threads, registers, shared }) {
  const limits = LIMITS[capability];
  const warps = Math.ceil(threads / WARP);
  const ofWarp = up(Math.max(registers, 1) * WARP, REGISTER_PIECE);
  const ofBlock = up(shared + limits.reserved, limits.piece);
  const fits = registers <= 255 && ofWarp * up(warps, PARTITIONS) <= REGISTERS;
  const slots = Math.floor(REGISTERS / PARTITIONS / ofWarp) * PARTITIONS;
  const sharedFits = shared <= limits.shared - limits.reserved;
  const allowed = {
    warps: threads <= 1024 ? Math.floor(limits.warps / warps) : 0,
    registers: fits ? Math.floor(slots / warps) : 0,
    "shared memory": !sharedFits ? 0 : ofBlock ? Math.floor(limits.shared / ofBlock) : limits.blocks,
    blocks: limits.blocks,
  };
  const blocks = Math.min(...Object.values(allowed));
  return {
    blocks,
    warps: blocks * warps,
    share: (blocks * warps) / limits.warps,
    allowed,
    limitedBy: Object.keys(allowed).filter((name) => allowed[name] === blocks),
    uses: { warps, registers: ofWarp * warps, "shared memory": ofBlock, blocks: 1 },
    has: {
      warps: limits.warps,
      registers: REGISTERS,
      "shared memory": limits.shared,
      blocks: limits.blocks,
    },
  };
}
