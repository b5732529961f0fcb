// What a request of a warp costs. The same rules as weft/counters.py, and held against
// it by tests/figures/cases.json.

export const WARP = 32;
export const SECTOR = 32; // bytes
export const LINE = 128;
export const BANKS = 32;
export const WORD = 4; // bytes of one bank
const PASS = 128; // bytes that shared memory delivers in one pass

/** Addresses, in bytes, of the 32 lanes: x[stride * lane + offset]. */
export function strided(stride, offset, size) {
  return lanes((lane) => (stride * lane + offset) * size);
}

/** Field `field` of struct `lane`, in an array of structs with `fields` fields. */
export function arrayOfStructs(fields, field, size) {
  return strided(fields, field, size);
}

/** The same where each field has an array of its own, of `length` elements. */
export function structOfArrays(field, size, length = WARP) {
  return strided(1, field * length, size);
}

export function lanes(address) {
  return Array.from({ length: WARP }, (_, lane) => address(lane));
}

/** The pieces of `unit` bytes that accesses of `size` bytes touch, in order. */
export function touched(addresses, size, unit) {
  const pieces = new Set();
  for (const a of addresses)
    for (let p = Math.floor(a / unit); p <= Math.floor((a + size - 1) / unit); p++)
      pieces.add(p);
  return [...pieces].sort((a, b) => a - b);
}

export const sectors = (addresses, size) => touched(addresses, size, SECTOR).length;
export const lines = (addresses, size) => touched(addresses, size, LINE).length;

/** How many lanes a pass of shared memory can serve, each with `size` bytes. */
export const lanesPerPass = (size) => Math.min(32, Math.max(1, Math.floor(PASS / size)));

/** Per part of a request that is served together, per bank: how many words. */
export function wordsPerBank(addresses, size) {
  const parts = [];
  const step = lanesPerPass(size);
  for (let start = 0; start < addresses.length; start += step) {
    const words = touched(addresses.slice(start, start + step), size, WORD);
    const banks = new Array(BANKS).fill(0);
    for (const word of words) banks[word % BANKS] += 1;
    parts.push(banks);
  }
  return parts;
}

export const fewestPasses = (addresses, size) =>
  Math.ceil(addresses.length / lanesPerPass(size));

/** How many passes one shared request takes. */
export function passes(addresses, size) {
  const parts = wordsPerBank(addresses, size);
  return parts.reduce((sum, banks) => sum + Math.max(...banks), 0);
}

/** Passes beyond the fewest possible. */
export const conflicts = (addresses, size) =>
  passes(addresses, size) - fewestPasses(addresses, size);

/**
 * A tile of 32 rows of 128 bytes in shared memory: where element (row, col) lies.
 * layout: "plain", "padded" by one element a row, or "swizzled", col ^ row.
 */
export function tileAddress(row, col, size, layout) {
  const width = PASS / size;
  if (layout === "padded") return (row * (width + 1) + col) * size;
  if (layout === "swizzled") return (row * width + (col ^ (row % width))) * size;
  return (row * width + col) * size;
}

/** The (row, col) that each lane wants, for a pattern on that tile. */
export function tilePattern(pattern, size, at = 0) {
  const width = PASS / size;
  const where = {
    row: (lane) => [(at + Math.floor(lane / width)) % WARP, lane % width],
    column: (lane) => [lane, at % width],
    diagonal: (lane) => [lane, (at + lane) % width],
    same: () => [at % WARP, at % width],
  };
  return lanes(where[pattern]);
}
