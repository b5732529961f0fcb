// Loaded on pages with widgets, between require.js and html-manager: where the
// widgets' modules lie. html-manager would otherwise look for them on a CDN.
(function () {
  const here = new URL(".", document.currentScript.src).href;
  requirejs.config({ paths: { anywidget: here + "anywidget/index" } });
})();
