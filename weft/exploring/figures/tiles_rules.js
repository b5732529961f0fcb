// The same array taken by tiles and by threads. Held against the course's runs of cuTile
// and Numba kernels by tests/figures/test_tiles.py.

/** Blocks of a launch that covers `n` elements. */
export const blocks = (n, tile) => Math.ceil(n / tile);

/**
 * The elements of the tile with this index, each a number below `n`, or null where the
 * tile reaches past the end.
 */
export const tileOf = (index, n, tile) =>
  Array.from({ length: tile }, (_, k) => (index * tile + k < n ? index * tile + k : null));

/** The index that block `block` gives to ct.load: of tiles, or by mistake of elements. */
export const indexOf = (block, tile, mistaken) => (mistaken ? block * tile : block);

/** Which block stores each element, null for none. */
export function stored(n, tile, mistaken) {
  const owners = new Array(n).fill(null);
  for (let block = 0; block < blocks(n, tile); block++)
    for (const element of tileOf(indexOf(block, tile, mistaken), n, tile))
      if (element !== null) owners[element] = block;
  return owners;
}
