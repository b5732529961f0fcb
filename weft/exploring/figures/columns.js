// The same bytes by rows and by columns: what a column-major library sees of an array.

import { counted, figure, h, hatch, picture, rect, s, text } from "./figure.js";
import { COLUMNS, ROWS, memory, read, refused } from "./columns_rules.js";

const KINDS = ["used", "band", "fill1"]; // of the array's rows
const SHAPES = {
  exchanged: { rows: COLUMNS, columns: ROWS },
  same: { rows: ROWS, columns: COLUMNS },
};

const given = ({ apart, shape, ld }) => ({ apart, ld, ...SHAPES[shape] });
const named = (element) => (element ? element.join("") : "");

function cell(x, y, wide, tall, element, right = true) {
  const out = [];
  if (element) out.push(rect(x, y, wide, tall, KINDS[element[0]]));
  else if (element === null) out.push(rect(x, y, wide, tall, "gone"), hatch(x, y, wide, tall, "hatch", 5));
  else out.push(rect(x, y, wide, tall, "empty"));
  if (!right) out.push(rect(x + 1.5, y + 1.5, wide - 3, tall - 3, "wild outline"));
  else out.push(rect(x, y, wide, tall, "box"));
  const words = element === undefined ? "?" : named(element);
  const ink = element && element[0] !== 1 ? "cell on" : "cell";
  out.push(text(x + wide / 2, y + tall / 2 + 4, words, ink));
  return out;
}

/** A bracket over or under cells of memory, with its name. */
function bracket(from, to, y, down, words) {
  const tick = down ? -5 : 5;
  return [
    s("path", { d: `M${from} ${y + tick}V${y}H${to}V${y + tick}`, class: "edge" }),
    text((from + to) / 2, y + (down ? 14 : -5), words, "letter"),
  ];
}

function draw(state, width) {
  const asked = given(state);
  const held = memory(state.apart);
  const shut = refused(asked);
  const seen = read(asked);
  const side = Math.min((width - 2) / 18, 34);
  const out = [];
  const top = 30;
  held.forEach((element, place) => out.push(cell(1 + place * side, top, side, 26, element)));
  for (let row = 0; row < ROWS; row++) {
    const x = 1 + row * state.apart * side;
    out.push(bracket(x + 2, x + COLUMNS * side - 2, top - 6, false, `row ${row}`));
  }
  for (let j = 0; j < asked.columns && !shut; j++) {
    const x = 1 + j * asked.ld * side;
    const end = Math.min(x + asked.rows * side, 1 + 18 * side);
    if (x + side > 1 + 18 * side + 1) break;
    out.push(bracket(x + 2, end - 2, top + 33, true, asked.rows > 1 ? `column ${j}` : j));
  }
  const foot = top + 76;
  const [wide, tall] = [Math.min(34, (width - 70) / 8), 26];
  const right = Math.max(COLUMNS * wide + 46, Math.min(width / 2, 300));
  out.push(text(1, foot - 8, `a, ${ROWS} × ${COLUMNS}, by rows`, "soft"));
  out.push(text(right, foot - 8, `the library's, by columns`, "soft"));
  for (let row = 0; row < ROWS; row++)
    for (let column = 0; column < COLUMNS; column++)
      out.push(cell(1 + column * wide, foot + row * tall, wide, tall, [row, column]));
  if (shut) {
    out.push(rect(right, foot, asked.columns * wide, asked.rows * tall, "left"));
    out.push(text(right + (asked.columns * wide) / 2, foot + (asked.rows * tall) / 2 + 4, "refused", "cell warn"));
  } else
    seen.forEach((row, i) =>
      row.forEach(({ held, right: good }, j) =>
        out.push(cell(right + j * wide, foot + i * tall, wide, tall, held, good)),
      ),
    );
  const good = shut ? 0 : seen.flat().filter((element) => element.right).length;
  const all = ROWS * COLUMNS;
  return {
    code: h("code", {}, `rows = ${asked.rows}, columns = ${asked.columns}, ld = ${asked.ld}`),
    picture: picture(width, foot + COLUMNS * tall + 2, out),
    numbers: [
      [`${good} of ${all}`, "elements as in the transpose", good < all && "bad"],
      [shut ? "refused" : "accepted", "by the library", shut && "bad"],
    ],
    said: words(state, asked, seen.flat(), shut, good === all),
  };
}

function words({ apart, shape, ld }, { rows }, elements, shut, good) {
  if (shut)
    return `A column has ${rows} elements, and the next one would begin after ${ld}. This mistake is the only one that the library notices.`;
  if (good)
    return "Each column is a row of a: the library sees the transpose of a. Nothing has been moved.";
  const beyond = elements.filter(({ held }) => held === undefined).length;
  const unused = elements.filter(({ held }) => held === null).length;
  const what = [
    beyond && `${counted(beyond, "element")} beyond the end of the array`,
    unused && `${counted(unused, "element")} that are not part of it`.replace(/^1 element that are/, "1 element that is"),
  ].filter(Boolean);
  const also = what.length ? ` It reads ${what.join(" and ")}, without an error.` : "";
  if (shape === "same")
    return `A column of ${rows} elements cannot hold a row of a, which has ${COLUMNS}.${also}`;
  return `Rows of a begin ${apart} apart, but the library looks for columns ${ld} apart.${also}`;
}

export default figure({
  defaults: { apart: 5, shape: "exchanged", ld: 5 },
  controls: [
    {
      kind: "choice",
      key: "shape",
      label: "The library is given",
      options: [
        ["exchanged", `${COLUMNS} × ${ROWS}`],
        ["same", `${ROWS} × ${COLUMNS}`],
      ],
    },
    {
      kind: "choice",
      key: "apart",
      label: "Rows of a are apart by",
      options: [4, 5, 6].map((n) => [n, String(n)]),
    },
    { kind: "range", key: "ld", label: "leading dimension", min: 2, max: 7 },
  ],
  draw,
});
