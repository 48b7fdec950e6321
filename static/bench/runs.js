// The table of experiments: a choice of rows that outlives the table's refreshes, ranges by Shift, and what is done
// with the chosen rows without a reload. Without this file the table is a form that leads to the chosen rows' page.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const chosen = new Set();
  const act = document.getElementById("act");
  const table = () => document.getElementById("experiments");
  if (!table()) return;
  const boxes = () => [...table().querySelectorAll("input[name=run]")];
  let last = "";
  let tag = "";

  const draw = () => {
    for (const part of table().querySelectorAll("[data-with-script]")) part.hidden = false;
    for (const box of boxes()) {
      box.checked = chosen.has(box.value);
      box.closest("tr").classList.toggle("is-chosen", box.checked);
    }
    const count = table().querySelector("[data-count]");
    count.hidden = !chosen.size;
    count.textContent = `, ${chosen.size} chosen`;
    for (const button of table().querySelectorAll(".selection-bar button")) button.disabled = !chosen.size;
    const all = document.getElementById("choose-all");
    if (all) {
      const on = boxes().filter((box) => box.checked).length;
      all.checked = on > 0 && on === boxes().length;
      all.indeterminate = on > 0 && !all.checked;
    }
    table().querySelector("input[name=tag]").value = tag;
  };
  const choose = (box, on) => { if (on) chosen.add(box.value); else chosen.delete(box.value); };
  const chooseRange = (to, on) => {
    const row = boxes();
    const from = row.findIndex((box) => box.value === last);
    const [first, end] = [from, row.indexOf(to)].sort((a, b) => a - b);
    for (const box of row.slice(Math.max(0, first), end + 1)) choose(box, on);
  };

  document.addEventListener("click", (event) => {
    const box = event.target.closest("input[name=run]");
    if (box) {
      if (event.shiftKey && last) chooseRange(box, box.checked); else choose(box, box.checked);
      last = box.value;
      draw();
    }
    if (event.target.id === "choose-all") {
      for (const one of boxes()) choose(one, event.target.checked);
      draw();
    }
    const button = event.target.closest("[data-change]");
    if (button) change(button);
  });
  // Arrows walk along the boxes; with Shift they choose on the way, Escape drops the choice.
  document.addEventListener("keydown", (event) => {
    const box = event.target.closest("input[name=run]");
    if (!box) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = step && boxes()[boxes().indexOf(box) + step];
    if (event.key === "Escape") { chosen.clear(); draw(); }
    if (!next) return;
    event.preventDefault();
    if (event.shiftKey) { choose(box, true); choose(next, true); last = next.value; draw(); }
    next.focus();
  });
  document.addEventListener("input", (event) => { if (event.target.matches(".selection input[name=tag]")) tag = event.target.value; });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches(".selection input[name=tag]")) return;
    event.preventDefault();
    table().querySelector("[data-change$='/tag/']").click();
  });

  function change(button) {
    const runs = button.dataset.run ? [button.dataset.run] : [...chosen];
    const values = { run: runs.join(","), tag: button.dataset.tag ?? tag, next: location.pathname + location.search };
    // Of the filter only the list of tags changes: a new form would lose what is chosen in it before htmx knows it.
    const swap = { target: "#experiments", select: "#experiments", selectOOB: "#messages,#queues,#id_tag", swap: "outerHTML" };
    htmx.ajax("POST", button.dataset.change, { ...swap, values, source: act });
    if (!button.dataset.run) { chosen.clear(); tag = ""; }
  }
  document.addEventListener("htmx:afterSettle", () => { if (table()) draw(); });
  draw();
});
