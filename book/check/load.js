// Wakes a check when it is about to be seen, or gets the focus. Nothing else is loaded
// before that. From a folder a browser loads no modules: there the plain text stays.
(() => {
  const onFiles = location.protocol === "file:";
  const here = new URL(".", document.currentScript.src);
  const wake = (place) => {
    if (place.dataset.woken) return;
    place.dataset.woken = "…";
    import(new URL("check.js", here))
      .then(({ start }) => start(place))
      .catch((error) => {
        delete place.dataset.woken;
        console.error(place.dataset.check, error);
      });
  };
  const watch = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen)
        if (isIntersecting) {
          watch.unobserve(target);
          wake(target);
        }
    },
    { rootMargin: "600px" },
  );
  addEventListener("DOMContentLoaded", () => {
    for (const place of document.querySelectorAll("[data-check]")) {
      if (onFiles) {
        place.querySelector("p").append(" (Not from a folder: browsers refuse that.)");
        continue;
      }
      watch.observe(place);
      place.addEventListener("focusin", () => wake(place), { once: true });
    }
  });
})();
