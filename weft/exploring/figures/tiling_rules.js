// One block of a tiled matrix product, step by step: what it has moved and computed.

export const SIZE = 16; // of the square matrices, in elements
const BYTES = 4;

/** How many steps the block takes: a load and a product for each tile along k. */
export const steps = ({ tile }) => (2 * SIZE) / tile;

/**
 * What has been counted when `step` steps are done, for one block.
 *
 * moved: bytes from global memory; flops: a multiply-add counts as 2; shared: words
 * read from shared memory, where each thread computes `held` by `held` elements.
 */
export function counted({ tile, held }, step) {
  const loads = Math.ceil(step / 2);
  const products = Math.floor(step / 2);
  const fmas = products * tile ** 3;
  return {
    loads,
    products,
    moved: loads * 2 * tile ** 2 * BYTES,
    flops: 2 * fmas,
    shared: (fmas * 2) / held,
    threads: (tile / held) ** 2,
  };
}
