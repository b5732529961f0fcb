// A check in a page: the editor, its buttons, and what Python says.
import { makeEditor } from "./editor.js";
import { Stopped, check, stop } from "./python.js";

const KEEP = "weft-check/";
const SPOKEN = { passed: "Passed", "to do": "To do", failed: "Not passed" };

// What a reader wrote, kept in this browser; where that is refused, until the page goes.
const memory = {};
const kept = {
  get(name) {
    try {
      return JSON.parse(localStorage.getItem(KEEP + name)) ?? memory[name] ?? {};
    } catch {
      return memory[name] ?? {};
    }
  },
  set(name, changes) {
    const now = (memory[name] = { ...kept.get(name), ...changes });
    try {
      localStorage.setItem(KEEP + name, JSON.stringify(now));
    } catch {} // full, or forbidden
  },
};

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// Text with `code` and *emphasis*, as verdicts and hints have it.
function inline(text) {
  return text.split(/(`[^`]+`|(?<![\w*])\*[^*\s][^*]*\*(?![\w*]))/).map((part) => {
    if (part.startsWith("`") && part.length > 2)
      return element("code", { textContent: part.slice(1, -1) });
    if (part.startsWith("*") && part.length > 2)
      return element("em", { textContent: part.slice(1, -1) });
    return part;
  });
}

const paragraphs = (text) =>
  text.split("\n\n").map((part) => element("p", {}, ...inline(part)));

const styled = new Promise((done) => {
  const href = new URL("live.css", import.meta.url);
  const link = { rel: "stylesheet", href, onload: done, onerror: done };
  document.head.append(element("link", link));
});

export async function start(place) {
  const name = place.dataset.check;
  await styled;
  new Check(place, name, JSON.parse(await fetched(`${name}.json`)));
}

async function fetched(file) {
  const answer = await fetch(new URL(file, import.meta.url));
  if (!answer.ok) throw new Error(`${file}: ${answer.status}`);
  return answer.text();
}

class Check {
  constructor(place, name, exercise) {
    Object.assign(this, { place, name, exercise, hints: 0 });
    const { starter, signature, told } = this.exercise;
    const button = (label, action) => {
      const made = element("button", { type: "button", textContent: label });
      made.addEventListener("click", action);
      return made;
    };
    this.check = button("Check", () => this.run());
    this.check.classList.add("weft-check-go");
    this.stop = button("Stop", () => stop());
    this.stop.disabled = true;
    this.hint = button("Hint", () => this.nextHint());
    this.reset = button("Reset", () => this.resetOrUndo());
    this.status = element("span", { className: "weft-check-status", role: "status" });
    this.verdict = element("div", { className: "weft-check-verdict" });
    this.verdict.setAttribute("aria-live", "polite");
    this.hintList = element("div", { className: "weft-check-hints" });
    this.hintList.setAttribute("aria-live", "polite");
    const keys = element("p", {
      className: "weft-check-keys",
      id: `${place.id}-keys`,
      textContent: "Shift+Enter checks. Tab indents; after Escape, it leaves the editor.",
    });
    this.mark = element("span", { className: "weft-check-done" });
    place.querySelector(".weft-check-head").append(" ", this.mark);
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", `Exercise: ${this.exercise.title}`);
    const box = element("div", { className: "weft-check-editor" });
    const row = element("div", { className: "weft-check-buttons" },
      this.check, this.stop, this.hint, this.reset, this.status);
    const given = element("p", { className: "weft-check-given" },
      "Given: ", ...told.flatMap((each, n) =>
        [n ? ", " : "", element("code", { textContent: each })]));
    const unbroken = signature.replace(/ +# /g, "  #\u00a0"); // no line ends in a `#`
    const task = element("pre", { className: "weft-check-task", textContent: unbroken });
    const live = element("div", {}, ...(signature ? [task] : []), box,
      ...(told.length ? [given] : []), row, keys, this.hintList, this.verdict);
    this.editor = makeEditor({
      parent: box,
      text: kept.get(name).text ?? starter,
      label: `Code of ${this.exercise.name}`,
      description: keys.id,
      onChange: () => this.changed(),
      onCheck: () => this.run(),
    });
    const hadFocus = place.contains(document.activeElement);
    place.lastElementChild.replaceWith(live); // the starter as plain text
    place.dataset.woken = "yes";
    if (hadFocus) this.editor.focus();
    this.showReset();
    this.showPassed();
  }

  changed() {
    kept.set(this.name, { text: this.editor.text() });
    this.showReset();
  }

  // Reset keeps what was there: the same button brings it back, until something is typed.
  resetOrUndo() {
    const { before } = kept.get(this.name);
    const { starter } = this.exercise;
    const isUndo = this.isReset();
    const now = this.editor.text();
    this.editor.replace(isUndo ? before : starter);
    if (!isUndo) kept.set(this.name, { before: now });
    this.editor.mark([]);
    this.verdict.replaceChildren();
    this.say(isUndo ? "Your code is back." : "The starter is back. “Undo reset” brings back your code.");
    this.showReset();
  }

  isReset() {
    const { before } = kept.get(this.name);
    const { starter } = this.exercise;
    return this.editor.text() === starter && before !== undefined && before !== starter;
  }

  showReset() {
    this.reset.textContent = this.isReset() ? "Undo reset" : "Reset";
    this.reset.disabled = !this.isReset() && this.editor.text() === this.exercise.starter;
  }

  showPassed() {
    this.place.classList.toggle("weft-check-passed", Boolean(kept.get(this.name).passed));
    this.mark.textContent = kept.get(this.name).passed ? "✓ passed" : "";
  }

  nextHint() {
    const { hints } = this.exercise;
    const text = hints[this.hints++];
    const title = `Hint ${this.hints} of ${hints.length}`;
    this.hintList.append(element("div", {}, element("b", { textContent: title }),
      ...paragraphs(text)));
    if (this.hints === hints.length) this.hint.disabled = true;
    this.reveal(this.hintList.lastElementChild);
  }

  // On a phone, a keyboard and the hints leave little room: what was asked for may be
  // below the window. A reader who has scrolled on stays where they are.
  reveal(part) {
    const { top, bottom } = this.check.getBoundingClientRect();
    const height = window.visualViewport?.height ?? window.innerHeight;
    if (bottom > 0 && top < height) part.scrollIntoView({ block: "nearest" });
  }

  say(text) {
    this.status.textContent = text;
  }

  tell({ running, loaded, total, mb }) {
    if (running) this.say("Checking …");
    else if (!total) this.say("Loading Python …");
    else {
      const percent = Math.floor((100 * loaded) / total);
      const step = percent - (percent % 5); // so that it is not said too often
      this.say(step < 100 ? `Loading Python, ${mb} MB: ${step} %` : "Starting Python …");
    }
  }

  busy(is) {
    this.check.disabled = is;
    this.stop.disabled = !is;
    this.place.toggleAttribute("data-busy", is);
  }

  async run() {
    if (this.check.disabled) return;
    const hadFocus = document.activeElement === this.check;
    this.busy(true);
    this.editor.mark([]);
    this.verdict.replaceChildren();
    if (hadFocus) this.stop.focus({ preventScroll: true });
    try {
      const source = this.editor.text();
      this.cases ??= fetched(`${this.name}.cases.json`); // not before they are needed
      this.show(await check(source, this.cases, (state) => this.tell(state)));
      this.say("");
      this.reveal(this.verdict.firstChild);
    } catch (error) {
      this.cases?.catch(() => delete this.cases);
      const stopped = error instanceof Stopped;
      this.say(stopped ? "You stopped the check." : `The check did not run: ${error.message}`);
    }
    const onStop = document.activeElement === this.stop;
    this.busy(false);
    if (onStop) this.check.focus({ preventScroll: true });
  }

  show(verdict) {
    this.editor.mark(verdict.places.filter(({ ours }) => ours).map(({ line }) => line));
    if (verdict.ok) kept.set(this.name, { passed: true });
    this.showPassed();
    const title = element("p", { className: "weft-check-title" },
      element("span", { textContent: `${verdict.mark} `, ariaHidden: "true" }),
      element("span", { className: "weft-unseen", textContent: `${SPOKEN[verdict.state]}: ` }),
      element("code", { textContent: verdict.name }), ` — ${verdict.headline}`);
    const parts = [title];
    if (verdict.places.length)
      parts.push(element("ul", { className: "weft-check-places" },
        ...verdict.places.map((each) => this.line(each))));
    for (const text of [verdict.text, verdict.why, verdict.hint].filter(Boolean))
      parts.push(...paragraphs(text));
    if (verdict.who)
      parts.push(element("p", { className: "weft-check-who", textContent: verdict.who }));
    if (verdict.facts.length)
      parts.push(element("ul", {}, ...verdict.facts.map((fact) =>
        element("li", {}, ...inline(fact)))));
    if (verdict.printed)
      parts.push(element("p", { textContent: "It printed:" }),
        element("pre", { textContent: verdict.printed, tabIndex: 0 }));
    if (verdict.read) {
      const { part, title: heading, address } = verdict.read;
      const href = new URL(`../../book/${address}`, import.meta.url);
      parts.push(element("p", {}, `→ ${part}, `, element("a", { href, textContent: `“${heading}”` })));
    }
    this.verdict.replaceChildren(
      element("div", { className: `weft-check-said weft-check-${verdict.state.replace(" ", "-")}` },
        ...parts));
    this.verdict.firstChild.dataset.kind = verdict.kind;
    if (verdict.history) this.showHistory(verdict);
  }

  // What led to the fault: its HTML brings the script of its slider. A step marks its line.
  showHistory({ history, places }) {
    const box = element("div", { innerHTML: history });
    this.verdict.append(box);
    for (const script of box.querySelectorAll("script"))
      script.replaceWith(element("script", { textContent: script.textContent }));
    const named = places.filter(({ ours }) => ours).map(({ line }) => line);
    box.addEventListener("weft-step", ({ detail }) => {
      const line = Number(detail?.line);
      const there = this.editor.text().split("\n")[line - 1]?.trim();
      this.editor.mark(!detail ? named : there === detail.text ? [line] : []);
    });
  }

  line({ line, text, note, ours }) {
    const rest = [element("code", { textContent: text }), note ? ` ${note}` : ""];
    if (!ours) return element("li", {}, ...rest);
    const to = element("button", { type: "button", textContent: `line ${line}` });
    to.addEventListener("click", () => this.editor.goTo(line));
    return element("li", {}, to, " ", ...rest);
  }
}
