// While a language model is being tested, the seconds count beside the button; a test that breaks off says so.
"use strict";

(() => {
  const clocks = new Map();
  const stop = (form) => { clearInterval(clocks.get(form)); clocks.delete(form); };
  const find = (event) => event.target.closest?.("form[data-connection-test]");

  document.addEventListener("htmx:beforeRequest", (event) => {
    const form = find(event);
    if (!form) return;
    const words = document.createElement("p");
    const seconds = document.createElement("span");
    seconds.ariaHidden = "true"; // a screen reader would read every second out
    words.append("Asking the model …", seconds);
    event.detail.target.replaceChildren(words);
    const began = performance.now();
    stop(form);
    clocks.set(form, setInterval(() => { seconds.textContent = ` ${Math.round((performance.now() - began) / 1000)} s`; }, 1000));
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const form = find(event);
    if (!form) return;
    stop(form);
    if (!event.detail.successful) event.detail.target.textContent = "The test broke off: reload this page and try again.";
  });
})();
