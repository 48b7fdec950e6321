// Below each text of a problem's form: how people will read it, drawn while one writes.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const token = document.querySelector("#problem_form [name=csrfmiddlewaretoken]")?.value;
  if (!token) return;
  const address = document.querySelector("[data-problem-preview]").dataset.problemPreview;
  for (const name of ["statement", "reference"]) {
    const field = document.getElementById(`id_${name}`);
    if (!field) continue;
    const shown = document.createElement("section");
    shown.className = "prefine-preview";
    shown.ariaLabel = `How people read the ${name}`;
    shown.tabIndex = 0; // a long one scrolls
    shown.hidden = true;
    field.after(shown);
    let timer, latest = 0;
    const show = async () => {
      const number = latest += 1;
      const body = new URLSearchParams({ csrfmiddlewaretoken: token, text: field.value });
      const answer = await fetch(address, { method: "POST", body }).catch(() => null);
      if (number !== latest) return; // more was written meanwhile
      if (answer?.ok) {
        shown.innerHTML = await answer.text();
        drawFormulas(shown);
      } else {
        shown.textContent = "The preview cannot be shown now. What you write stays.";
      }
      shown.hidden = !shown.textContent.trim();
    };
    field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 400); });
    show();
  }
});
