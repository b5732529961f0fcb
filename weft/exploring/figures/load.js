// In a page of the book there is no kernel: this finds its figures, fetches the module
// of each when it is about to be seen, and gives it the state that the page holds.
(function () {
  // From a folder a browser does not load modules; the pictures stay as they are.
  if (location.protocol === "file:") return;
  const here = new URL(".", document.currentScript.src);

  function modelOf(state) {
    const values = { state };
    const listeners = {};
    return {
      get: (name) => values[name],
      set(name, value) {
        values[name] = value;
        for (const listener of [...(listeners[`change:${name}`] ?? [])]) listener();
      },
      on: (event, listener) => (listeners[event] ??= new Set()).add(listener),
      off: (event, listener) => listeners[event]?.delete(listener),
      save_changes() {},
    };
  }

  async function wake(place) {
    const state = JSON.parse(place.querySelector("script").textContent);
    const module = await import(new URL(`${place.dataset.figure}.js`, here));
    const el = document.createElement("div");
    el.setAttribute("role", "group");
    el.setAttribute("aria-label", place.dataset.label);
    place.querySelector(".weft-still").replaceWith(el);
    await module.default.render({ model: modelOf(state), el });
    place.dataset.alive = "";
  }

  const watch = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        watch.unobserve(target);
        wake(target).catch((error) => console.error(target.dataset.figure, error));
      }
    },
    { rootMargin: "800px" },
  );
  const start = () =>
    document.querySelectorAll("[data-figure]").forEach((place) => watch.observe(place));
  addEventListener("beforeprint", () =>
    document.querySelectorAll("[data-figure]:not([data-alive])").forEach(wake),
  );
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
