"use strict";

// Of what all methods and judges are and take, the form tells what belongs to the chosen one.
/** The nearest select of this field: that of the same arm, where a study has several. */
function selectOf(node, field) {
  for (let around = node; around; around = around.parentElement) {
    const select = around.querySelector(`select[name$="${field}"]`);
    if (select) return select;
  }
  return null; // a started experiment, whose method stands
}
const beside = (select, field, name) => document.getElementsByName(select.name.replace(new RegExp(`${field}$`), name))[0];

function tell() {
  for (const about of document.querySelectorAll("[data-about]")) {
    const select = selectOf(about, about.dataset.about);
    if (!select) continue;
    about.open = about.dataset.told = true;
    for (const row of about.querySelectorAll("[data-choice]")) row.hidden = row.dataset.choice !== select.value;
  }
}

const methodOf = (name) => document.querySelector(`[data-k][data-choice="${name}"]`)?.dataset;
/** A method's own K or N, N as its paper has it for this task. */
const proposed = (method, name, task) => String((name === "n" && JSON.parse(method.roundsOn)[task]) || method[name]);

/** A new method proposes its own K and N where those of the one before were left as they were, and settings of the algorithm that it is defined for: quick-sac for quick, and back. */
function propose(select) {
  const [before, now] = [select.dataset.before, select.value].map(methodOf), task = beside(select, "method", "task")?.value;
  for (const name of ["k", "n"]) {
    const input = beside(select, "method", name);
    if (input && before && now && input.value === proposed(before, name, task)) input.value = proposed(now, name, task);
  }
  const preset = beside(select, "method", "preset"), plain = preset?.value.replace(/-sac$/, "");
  const wanted = now?.algorithm === "sac" ? `${plain}-sac` : plain;
  if (preset && (now?.algorithm || before?.algorithm) && [...preset.options].some(({ value }) => value === wanted)) preset.value = wanted;
  select.dataset.before = select.value;
}

/** The methods, judges and starts of trainings that this task refuses are not offered. A saved one stays; after a change another one is chosen. */
function offer(task, changed) {
  for (const field of ["method", "judge", "training_start"]) {
    const select = beside(task, "task", field);
    if (!select?.dataset.refused) continue;
    const refused = JSON.parse(select.dataset.refused)[task.value] || [];
    for (const option of select.options) option.hidden = option.disabled = refused.includes(option.value) && (changed || !option.selected);
    if (!select.selectedOptions[0]?.disabled) continue;
    select.value = [...select.options].find((option) => !option.disabled).value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  }
}
/** A new task proposes the method's N for it where that for the one before was left as it was. */
function proposeRounds(task) {
  const method = methodOf(beside(task, "task", "method")?.value), input = beside(task, "task", "n");
  if (method && input?.value === proposed(method, "n", task.dataset.before)) input.value = proposed(method, "n", task.value);
  task.dataset.before = task.value;
}
const offerAll = () => { for (const task of document.querySelectorAll('select[name$="task"]')) offer(task, false); };

document.addEventListener("focusin", ({ target }) => { if (target.matches('select[name$="method"], select[name$="task"]')) target.dataset.before = target.value; });
document.addEventListener("change", ({ target }) => {
  if (target.matches('select[name$="method"]')) propose(target);
  if (target.matches('select[name$="method"], select[name$="judge"]')) tell();
  if (target.matches('select[name$="task"]')) { proposeRounds(target); offer(target, true); }
});
document.addEventListener("formset:added", tell);
document.addEventListener("DOMContentLoaded", tell);
document.addEventListener("DOMContentLoaded", offerAll);

// An arm or a question that is added comes after the others; an arm gets the next free letter as its name.
document.addEventListener("formset:added", ({ target, detail }) => {
  const place = target.querySelector('[name$="-position"]');
  const places = [...document.querySelectorAll(`[name^="${detail.formsetName}-"][name$="-position"]`)];
  if (place) place.value = Math.max(-1, ...places.filter((one) => one !== place && !one.name.includes("__prefix__")).map((one) => Number(one.value))) + 1;
  const name = detail.formsetName === "arms" && target.querySelector('[name$="-name"]');
  if (!name || name.value) return;
  const taken = [...document.querySelectorAll('[name^="arms-"][name$="-name"]')].map((input) => input.value.trim());
  name.value = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].find((letter) => !taken.includes(letter)) || "";
});

// A click on an option writes it down, its value selected.
document.addEventListener("click", ({ target }) => {
  const option = target.closest("[data-option]")?.dataset.option;
  const about = option && target.closest("[data-about]");
  const select = about && selectOf(about, about.dataset.about);
  const box = select && beside(select, about.dataset.about, about.dataset.box);
  if (!box || box.disabled) return;
  const [name, value] = option.split(" = ");
  const written = box.value.split("\n").some((line) => line.split("=")[0].trim() === name);
  if (!written) box.value = [box.value.trimEnd(), option].filter(Boolean).join("\n");
  box.focus();
  if (!written) box.setSelectionRange(box.value.length - value.length, box.value.length);
});

// The choices of a filter close when one clicks beside them or presses Escape.
const closeFilters = (except) => { for (const open of document.querySelectorAll(".list-filters details[open]")) open.open = open === except; };
document.addEventListener("click", ({ target }) => closeFilters(target.closest(".list-filters details")));
document.addEventListener("keydown", ({ key }) => {
  const open = key === "Escape" && document.querySelector(".list-filters details[open]");
  if (!open) return;
  closeFilters();
  open.querySelector("summary").focus();
});

// Many choices of a filter are searched by any part of their words; Enter takes the first that is left.
document.addEventListener("input", ({ target }) => {
  const choices = target.closest(".list-filters .choices");
  if (!choices) return;
  const words = target.value.trim().toLowerCase(), [all, ...rows] = choices.querySelectorAll("li");
  all.hidden = words !== "";
  for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(words);
  choices.querySelector("[role=status]").textContent = rows.every((row) => row.hidden) ? "Nothing has these letters." : "";
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches(".list-filters input")) event.target.closest(".choices").querySelector("li:not([hidden]) a")?.click();
});
document.addEventListener("toggle", ({ target }) => { if (target.open) target.querySelector(".choices input")?.focus(); }, true);
