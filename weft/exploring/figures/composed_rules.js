// The composition of two layouts, as chapters/20_layouts/layouts.py computes it, and held
// against that by tests/figures/test_composed.py.

import { crd2idx, size } from "./layout_rules.js";

const leaves = (value) => [value].flat(Infinity);

/** The [size, stride] pairs of a layout, without their nesting. */
export const modes = ({ shape, stride }) => {
  const steps = leaves(stride);
  return leaves(shape).map((n, k) => [n, steps[k]]);
};

/** One more than the largest index. */
export const cosize = (layout) =>
  1 + modes(layout).reduce((last, [n, step]) => last + (n - 1) * step, 0);

export const at = (layout, number) => crd2idx(number, layout.shape, layout.stride);

function flat(pairs) {
  const [shape, stride] = [0, 1].map((which) => pairs.map((pair) => pair[which]));
  return pairs.length === 1
    ? { shape: shape[0], stride: stride[0] }
    : { shape, stride };
}

/** The same function with as few modes as possible, and no nesting. */
export function coalesce(layout) {
  const pairs = [[1, 0]];
  for (const [n, step] of modes(layout)) {
    const last = pairs.at(-1);
    if (n === 1) continue;
    if (last[0] === 1) pairs[pairs.length - 1] = [n, step];
    else if (step === last[0] * last[1]) last[0] *= n;
    else pairs.push([n, step]);
  }
  return flat(pairs);
}

/**
 * The layout R with R(c) = A(B(c)), whose coordinates are those of B. Throws an Error
 * that says why there is none.
 */
export function composition(a, b) {
  const found = composed(a, b);
  for (let c = 0; c < size(b.shape); c++)
    if (at(b, c) < size(a.shape) && at(found, c) !== at(a, at(b, c)))
      throw new Error("two modes of B meet inside a mode of A");
  return found;
}

function composed(a, { shape, stride }) {
  if (Array.isArray(shape)) {
    const parts = shape.map((mode, k) => composed(a, { shape: mode, stride: stride[k] }));
    return { shape: parts.map((p) => p.shape), stride: parts.map((p) => p.stride) };
  }
  if (shape === 1 || stride === 0) return { shape, stride: 0 };
  const faster = modes(coalesce(a));
  const [, last] = faster.pop();
  const pairs = [];
  let [n, step] = [shape, stride];
  for (const [length, unit] of faster) {
    if (n === 1 || step % length === 0) {
      step = Math.floor(step / length);
      continue;
    }
    const taken = Math.min(Math.floor(length / step), n);
    if (length % step) throw new Error(`steps of ${step} do not divide a mode of ${length}`);
    if (n % taken)
      throw new Error(
        `${n} elements do not split into runs of ${taken}, as many as a mode of ${length} holds`,
      );
    pairs.push([taken, step * unit]);
    [n, step] = [n / taken, 1];
  }
  return coalesce(flat([...pairs, [n, step * last]]));
}

/** The composition as { layout }, or { layout: null, why }. */
export function tried(a, b) {
  try {
    return { layout: composition(a, b) };
  } catch (error) {
    return { layout: null, why: error.message };
  }
}
