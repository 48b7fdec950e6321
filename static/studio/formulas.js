"use strict";
/** KaTeX sets sizes through the style object, which the page's policy allows; it never writes HTML from an answer. */
function drawFormulas(root) {
  for (const span of root.querySelectorAll(".math:not(.drawn)")) {
    const tex = span.textContent;
    span.classList.add("drawn");
    try {
      katex.render(tex, span, { displayMode: span.dataset.display === "yes", throwOnError: true, trust: false, maxSize: 20, maxExpand: 500, strict: "ignore", errorColor: "currentcolor" });
    } catch (error) {
      span.textContent = tex;
      span.classList.add("undrawn");
      span.title = gettext("This formula could not be drawn.");
    }
  }
}
