// Layouts as CuTe writes them, and what a warp's access to them costs. The same as
// chapters/20_layouts/layouts.py, and held against it by tests/figures/test_drawn_layouts.py.

import { WORD, BANKS, passes } from "./counting.js";

const LANES = 32;

/** A nested tuple as nested arrays; throws an Error for what is none. */
function tuple(text, whole) {
  const json = text.trim().replaceAll("(", "[").replaceAll(")", "]").replaceAll(/,\s*\]/g, "]");
  try {
    if (/^[\d[\],\s]+$/.test(json)) return JSON.parse(json);
  } catch {
    // said below
  }
  throw new Error(`${whole} is no layout; write shape:stride, as in (4,2):(1,4)`);
}

const alike = (a, b) =>
  Array.isArray(a) === Array.isArray(b) &&
  (!Array.isArray(a) || (a.length === b.length && a.every((mode, k) => alike(mode, b[k]))));

const leaves = (value) => [value].flat(Infinity);

export const size = (shape) => leaves(shape).reduce((product, n) => product * n, 1);

/** Column-major strides for a shape. */
export function compact(shape, step = 1) {
  if (!Array.isArray(shape)) return step;
  return shape.map((mode) => {
    const steps = compact(mode, step);
    step *= size(mode);
    return steps;
  });
}

/** Read "(4,(2,3)):(1,(4,8))": { shape, stride }. Throws an Error that says what is wrong. */
export function parse(text) {
  const [left, right, ...more] = text.split(":");
  if (more.length) throw new Error(`${text} has more than one colon`);
  const shape = tuple(left, text);
  const stride = right === undefined ? compact(shape) : tuple(right, text);
  if (leaves(shape).length === 0 || leaves(shape).some((n) => n < 1))
    throw new Error("every size in a shape is at least 1");
  if (!alike(shape, stride)) throw new Error("shape and stride must be nested alike");
  return { shape, stride };
}

export const written = (value) =>
  Array.isArray(value) ? `(${value.map(written).join(",")})` : String(value);

/** One number for each mode; the last mode takes what is left. */
function split(number, shape) {
  return shape.map((mode, k) => {
    if (k === shape.length - 1) return number;
    const part = number % size(mode);
    number = Math.floor(number / size(mode));
    return part;
  });
}

export function crd2idx(coordinate, shape, stride) {
  if (!Array.isArray(shape)) return coordinate * stride;
  const parts = Array.isArray(coordinate) ? coordinate : split(coordinate, shape);
  return shape.reduce((sum, mode, k) => sum + crd2idx(parts[k], mode, stride[k]), 0);
}

export function idx2crd(number, shape) {
  if (!Array.isArray(shape)) return number;
  return split(number, shape).map((part, k) => idx2crd(part, shape[k]));
}

/** CuTe's Swizzle<bits, base, shift> of an index. */
export function swizzle(index, [bits, base, shift]) {
  return index ^ ((index >> shift) & (((1 << bits) - 1) << base));
}

/** How many rows and columns a layout has when it is shown as a matrix. */
export function sides({ shape }) {
  if (!Array.isArray(shape)) return [1, shape];
  if (shape.length === 1) return [1, size(shape)];
  return [size(shape[0]), size(shape.slice(1))];
}

/** The index of every cell, row by row. */
export function table(layout, swizzled = [0, 0, 1]) {
  const [rows, columns] = sides(layout);
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) =>
      swizzle(crd2idx(row + rows * column, layout.shape, layout.stride), swizzled),
    ),
  );
}

/**
 * Of a layout from (thread, value) to the number of a coordinate, in a tile with `rows`
 * rows: the [thread, value] pairs of each cell, row by row.
 */
export function owners({ shape, stride }, rows) {
  const [threads, values] = sides({ shape });
  const cells = [];
  for (let value = 0; value < values; value++)
    for (let thread = 0; thread < threads; thread++) {
      const number = crd2idx(thread + threads * value, shape, stride);
      const [row, column] = [number % rows, Math.floor(number / rows)];
      while (cells.length <= column) cells.push(Array.from({ length: rows }, () => []));
      cells[column][row].push([thread, value]);
    }
  return Array.from({ length: rows }, (_, row) => cells.map((column) => column[row]));
}

/**
 * The cells that up to 32 lanes read, and at which byte addresses.
 *
 * way: "row" or "column" through the cell `at`, or "pieces": 16 bytes of each row, from
 * the aligned column that holds `at`. null where a piece is not in one place.
 */
export function access(indices, way, [row, column], bytes) {
  const width = indices[0].length;
  if (way === "row")
    return spread(upTo(width).map((k) => [[row, k]]), indices, bytes, bytes);
  const lanes = upTo(indices.length);
  if (way === "column")
    return spread(lanes.map((k) => [[k, column]]), indices, bytes, bytes);
  const many = 16 / bytes;
  const first = Math.floor(column / many) * many;
  if (first + many > width) return null;
  const cells = lanes.map((k) => Array.from({ length: many }, (_, i) => [k, first + i]));
  return spread(cells, indices, bytes, 16);
}

const upTo = (n) => Array.from({ length: Math.min(n, LANES) }, (_, i) => i);

function spread(cells, indices, bytes, piece) {
  const at = ([row, column]) => indices[row][column];
  const whole = cells.every((own) => own.every((cell, k) => at(cell) === at(own[0]) + k));
  const addresses = cells.map((own) => at(own[0]) * bytes);
  if (!whole || addresses.some((address) => address % piece)) return null;
  return { cells, addresses, taken: passes(addresses, piece), piece };
}

export const bank = (index, bytes) => Math.floor((index * bytes) / WORD) % BANKS;
