// In a page of the book there is no kernel: this finds its figures, fetches the module
// of each when it is about to be seen, and gives it the state that the page holds.
(function () {
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

  // From a folder a browser loads no modules: there each figure is a script of its own.
  function script(name) {
    return new Promise((resolve, reject) => {
      const tag = document.createElement("script");
      tag.src = new URL(`${name}.script.js`, here);
      tag.onload = () => resolve(globalThis.weftFigures[name]);
      tag.onerror = () => reject(new Error(`no ${tag.src}`));
      document.head.append(tag);
    });
  }

  const figure = async (name) =>
    location.protocol === "file:"
      ? script(name)
      : (await import(new URL(`${name}.js`, here))).default;

  async function wake(place) {
    const state = JSON.parse(place.querySelector("script").textContent);
    const { render } = await figure(place.dataset.figure);
    const el = document.createElement("div");
    el.setAttribute("role", "group");
    el.setAttribute("aria-label", place.dataset.label);
    place.querySelector(".weft-still").replaceWith(el);
    await render({ model: modelOf(state), el });
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
