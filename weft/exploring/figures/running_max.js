// Attention of one query over tiles of keys: the running maximum, and what it corrects.

import { figure, h, hatch, picture, rect, s, text } from "./figure.js";
import { TILE, TILES, after, exactly, scores } from "./running_max_rules.js";

const KEYS = TILE * TILES;
const MOST = 4; // the end of the axis of scores
const two = (value) => value.toFixed(2);

function draw(state, width) {
  const { step, correct } = state;
  const all = scores(state.scores);
  const now = after(step, all, correct);
  const left = width >= 480 ? 60 : 30;
  const cell = (width - left - 2) / KEYS;
  const [top, high] = [24, 104];
  const [floor, room] = [top + high + 44, 84];
  const bottom = floor + room;
  const at = (key) => left + key * cell;
  const level = (score) => top + high * (1 - score / MOST);
  const out = [text(1, 12, "scores; a step shows the running maximum m", "soft")];
  for (let tile = 0; tile < TILES; tile++) {
    const kind = tile === step - 1 ? "band" : "empty";
    out.push(rect(at(TILE * tile) + 1, top, TILE * cell - 2, high, kind));
    out.push(rect(at(TILE * tile) + 1, floor, TILE * cell - 2, room, kind));
    out.push(text(at(TILE * (tile + 0.5)), bottom + 14, `tile ${tile}`, "soft mid"));
  }
  for (const score of [0, 2, 4]) out.push(text(left - 6, level(score) + 4, score, "soft end"));
  all.forEach((score, key) => {
    const tile = Math.floor(key / TILE);
    const box = [at(key) + 3, level(score), cell - 6, (high * score) / MOST];
    if (tile === step - 1) out.push(rect(...box, "used"));
    else out.push(rect(...box, "idle"));
  });
  let line = "";
  now.tops.forEach((m, tile) => {
    line += `${tile ? "L" : "M"}${at(TILE * tile)} ${level(m)}H${at(TILE * (tile + 1))}`;
  });
  if (line) out.push(s("path", { d: line, class: "fence outline" }));

  out.push(text(1, floor - 8, "weights, as they are in the sums", "soft"));
  out.push(text(left - 6, floor + 4, 1, "soft end"), text(left - 6, bottom + 2, 0, "soft end"));
  const last = now.tops.at(-1);
  now.weights.forEach((weight, key) => {
    const [x, tall] = [at(key) + 3, room * weight];
    const wrong = weight > 1.0001 * Math.exp(all[key] - last);
    out.push(rect(x, bottom - tall, cell - 6, tall, wrong ? "hot" : "used"));
    if (wrong) out.push(hatch(x, bottom - tall, cell - 6, tall, "hatch out", 4));
    const old = now.before[key];
    if (old > weight) out.push(rect(x, bottom - room * old, cell - 6, room * old, "was"));
  });
  return {
    code: update(step, now, correct),
    picture: picture(width, bottom + 20, out),
    numbers: [
      [step ? two(last) : "-∞", "m, the maximum"],
      [two(now.total), "sum of the weights"],
      [step ? two(now.sum / now.total) : "none", "output so far", step === TILES && !right(now, all) && "bad"],
      [two(exactly(all)), "softmax of all scores"],
    ],
    said: words(state, now, all),
  };
}

const right = (now, all) => Math.abs(now.output - exactly(all)) < 1e-9;

/** What the step computes, with its numbers. */
function update(step, { tops, factor }, correct) {
  if (!step) return h("code", {}, "m, total, o = -inf, 0, 0");
  const [old, now] = [step > 1 ? two(tops.at(-2)) : "-inf", two(tops.at(-1))];
  const value = step > 1 ? two(factor) : "0";
  const used = correct || step === 1 ? "" : ", not applied";
  return h("code", {}, `factor = exp(${old} - ${now}) = ${value}${used}`);
}

function words({ step, correct }, now, all) {
  if (!step) return "The value of key j is the number j, so the output is a weighted mean of the keys' numbers.";
  const grown = step > 1 && now.tops.at(-1) > now.tops.at(-2);
  if (step === TILES && !right(now, all))
    return "Weights relative to different maxima were added up. The hatched ones are too large, and the output is wrong.";
  const end = step === TILES ? " The output is that of the softmax over all keys." : "";
  if (step === 1) return "The first tile sets the maximum. Its weights are relative to that.";
  if (!grown) return `No score of tile ${step - 1} is above the maximum, so the factor is 1, and nothing changes.${end}`;
  if (!correct)
    return `Tile ${step - 1} has a larger score. The weights of earlier tiles are relative to the old maximum: they are too large.`;
  return `Tile ${step - 1} has a larger score. What has been added up so far (the sum of the weights, and the output) is multiplied by ${two(now.factor)}.${end}`;
}

export default figure({
  defaults: { scores: "mixed", correct: true, step: 3 },
  controls: [
    {
      kind: "choice",
      key: "scores",
      label: "Scores",
      options: [
        ["mixed", "mixed"],
        ["rising", "rising"],
        ["falling", "falling"],
      ],
    },
    { kind: "toggle", key: "correct", label: "correct earlier tiles" },
    {
      kind: "buttons",
      key: "step",
      label: "Steps",
      items: [
        ["Next tile", (now) => ({ step: now.step + 1 }), (now) => now.step < TILES],
        ["Back", (now) => ({ step: now.step - 1 }), (now) => now.step > 0],
        ["Start again", () => ({ step: 0 }), (now) => now.step > 0],
      ],
    },
  ],
  draw,
});
