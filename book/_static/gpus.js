// Tables of several GPUs: what is picked in one is picked in all, and remembered.
(function () {
  const KEY = "weft-gpu";
  const buttons = () => document.querySelectorAll(".weft-gpus > input");

  function pick(gpu) {
    for (const button of buttons()) if (button.value === gpu) button.checked = true;
  }

  document.addEventListener("change", ({ target }) => {
    if (!target.matches(".weft-gpus > input")) return;
    const before = target.getBoundingClientRect().top;
    pick(target.value);
    // The tables above may have become longer: stay at the one that was used.
    window.scrollBy(0, target.getBoundingClientRect().top - before);
    try {
      localStorage.setItem(KEY, target.value);
    } catch {} // a page opened as a file may have no storage
  });

  try {
    pick(localStorage.getItem(KEY));
  } catch {}
})();
