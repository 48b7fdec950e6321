// The page of tasks: a search that hides the cards it does not find. Enter opens the only one that is left.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const field = document.getElementById("task-search");
  const count = document.getElementById("task-count");
  const cards = [...document.querySelectorAll(".task-card")];
  if (!field) return;
  field.closest("[data-with-script]").hidden = false;
  const find = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const card of cards) {
      const text = `${card.textContent} ${card.closest(".task-kind").dataset.kind}`.toLowerCase();
      card.hidden = !words.every((word) => text.includes(word));
    }
    for (const kind of document.querySelectorAll(".task-kind")) {
      const left = kind.querySelectorAll(".task-card:not([hidden])").length;
      const link = document.querySelector(`nav a[href="#${kind.querySelector("h2").id}"]`);
      kind.hidden = link.parentElement.hidden = !left;
      link.querySelector("span").textContent = left;
    }
    const found = cards.filter((card) => !card.hidden).length;
    count.textContent = found ? `${found} task${found === 1 ? "" : "s"}` : "No task fits.";
    return found;
  };
  field.addEventListener("input", find);
  field.addEventListener("keydown", ({ key }) => {
    if (key === "Enter" && find() === 1) cards.find((card) => !card.hidden).querySelector("a").click();
    if (key === "Escape") { field.value = ""; find(); }
  });
  find(); // the browser may have kept what was typed
});
