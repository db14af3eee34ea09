// The explorer in its frame is as high as what it shows, so that the page scrolls and not the frame, and has the site's theme.
(() => {
  const frame = () => document.querySelector("iframe.explorer");
  const tell = () => frame()?.contentWindow.postMessage({ theme: document.documentElement.dataset.theme }, "*");
  addEventListener("message", ({ source, data }) => {
    if (!frame() || source !== frame().contentWindow || !(data?.height > 0)) return;
    frame().style.height = `${Math.ceil(data.height) + 2}px`; // and its border
    if (data.ready) tell();
  });
  new MutationObserver(tell).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
})();
