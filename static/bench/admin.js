// Copy buttons for personal links.
"use strict";

document.addEventListener("click", async (event) => {
  const one = event.target.closest("[data-copy]");
  const all = event.target.closest("[data-copy-all]");
  const button = one || all;
  if (!button) return;
  const rows = [...document.querySelectorAll("[data-copy]")].map((each) => {
    const label = each.closest("tr").querySelector("th").textContent.trim();
    return `${label}\t${each.dataset.copy}`;
  });
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(one ? one.dataset.copy : rows.join("\n"));
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy by hand"; // no clipboard without https or localhost
  }
  setTimeout(() => { button.textContent = before; }, 2000);
});
