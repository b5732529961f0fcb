// A measured number says where it is from when it is tapped, or by Enter.
(() => {
  const numbers = [...document.querySelectorAll(".weft-measured[title]")].filter(
    (number) => !number.closest("a, button, summary, label"),
  );
  const note = document.createElement("div");
  if (!numbers.length || !note.showPopover) return; // the title says it to a mouse
  note.className = "weft-source";
  note.popover = "auto"; // closes by a tap elsewhere
  note.setAttribute("role", "status");
  document.body.append(note);

  const tables = new Set();
  for (const number of numbers) {
    number.setAttribute("role", "button");
    const table = number.closest("table");
    // All numbers of a table are from one run: the first is enough for the Tab key.
    number.tabIndex = table && tables.has(table) ? -1 : 0;
    if (table) tables.add(table);
  }

  const show = (number) => {
    note.textContent = number.title;
    note.showPopover();
    const { left, bottom } = number.getBoundingClientRect();
    const room = document.documentElement.clientWidth - note.offsetWidth - 8;
    note.style.left = `${Math.max(8, Math.min(left, room))}px`;
    const below = bottom + 6 + note.offsetHeight <= innerHeight;
    note.style.top = `${below ? bottom + 6 : bottom - 36 - note.offsetHeight}px`;
  };
  const numberOf = ({ target }) => numbers.find((number) => number.contains(target));
  addEventListener("click", (event) => {
    const number = numberOf(event);
    if (number) show(number);
  });
  addEventListener("keydown", (event) => {
    // The theme keeps this key from the browser.
    if (event.key === "Escape") note.hidePopover();
    const number = numberOf(event);
    if (!number || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    show(number);
  });
  addEventListener("scroll", () => note.hidePopover(), { passive: true });
})();
