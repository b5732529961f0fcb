// Views of a tensor of 3 rows and 4 columns, as PyTorch makes them: a storage and a
// recipe. Held against PyTorch itself by tests/figures/test_strides.py.

const rowMajor = (shape) => shape.map((_, dim) => product(shape.slice(dim + 1)));
const product = (sizes) => sizes.reduce((all, size) => all * size, 1);
const upTo = (n) => Array.from({ length: n }, (_, i) => i);

/** Where an element is in the storage. */
export const place = ({ strides, offset }, index) =>
  offset + index.reduce((sum, i, dim) => sum + i * strides[dim], 0);

/** Whether the strides are those of row-major order; dimensions of size 1 do not count. */
export const isContiguous = ({ shape, strides }) =>
  rowMajor(shape).every((stride, dim) => shape[dim] === 1 || stride === strides[dim]);

/** The shortest recipe that visits the same elements in the same order: [sizes, strides]. */
export function merged({ shape, strides }) {
  const [sizes, steps] = [[], []];
  shape.forEach((size, dim) => {
    if (size === 1) return;
    const last = steps.length - 1;
    if (last >= 0 && steps[last] === size * strides[dim]) {
      sizes[last] *= size;
      steps[last] = strides[dim];
    } else {
      sizes.push(size);
      steps.push(strides[dim]);
    }
  });
  return [sizes, steps];
}

/** The numbers of a view, row by row. */
export const values = (view) =>
  upTo(view.shape[0]).map((i) =>
    upTo(view.shape[1]).map((j) => view.storage[place(view, [i, j])]),
  );

/** What an operation makes of a view, and how it is written: [view, code], or null. */
function after(view, operation) {
  const [[rows, columns], [down, across]] = [view.shape, view.strides];
  if (operation === "t")
    return [{ ...view, shape: [columns, rows], strides: [across, down] }, ".t()"];
  if (operation === "contiguous") {
    if (isContiguous(view)) return [view, ".contiguous()"];
    const storage = values(view).flat();
    const strides = rowMajor(view.shape);
    return [
      { ...view, strides, offset: 0, storage, moved: view.moved + storage.length },
      ".contiguous()",
    ];
  }
  if (operation === "rows" || operation === "expand") {
    if (rows === 1) return null;
    if (operation === "expand")
      return [{ ...view, strides: [0, across] }, `[0].expand(${rows}, ${columns})`];
    return [{ ...view, shape: [rows - 1, columns], offset: view.offset + down }, "[1:]"];
  }
  if (columns === 1) return null;
  if (operation === "skip")
    return [
      { ...view, shape: [rows, Math.ceil(columns / 2)], strides: [down, 2 * across] },
      "[:, ::2]",
    ];
  return [{ ...view, shape: [rows, columns - 1] }, "[:, :-1]"];
}

/**
 * The view after a list of operations, those left out that cannot be done: t, rows
 * ([1:]), skip ([:, ::2]), narrow ([:, :-1]), expand (of row 0) and contiguous.
 *
 * Returns { shape, strides, offset, storage, moved, code }; `moved` counts the numbers
 * that were copied.
 */
export function viewed(operations) {
  let view = { shape: [3, 4], strides: [4, 1], offset: 0, storage: upTo(12), moved: 0 };
  let code = "x";
  for (const operation of operations) {
    const next = after(view, operation);
    if (!next) continue;
    view = next[0];
    code += next[1];
  }
  return { ...view, code };
}

/** Whether an operation can be done after these. */
export const possible = (operations, operation) =>
  after(viewed(operations), operation) !== null;
