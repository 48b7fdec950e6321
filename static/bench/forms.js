// What forms of the bench add to themselves: a language model that is connected in a window beside them, another pair.
"use strict";

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-adds]"), another = event.target.closest("[data-another]");
  if (link) {
    event.preventDefault();
    window.open(link.href, link.dataset.adds, "width=900,height=800,resizable=yes,scrollbars=yes");
  }
  if (!another) return;
  const total = document.getElementById(`id_${another.dataset.another}-TOTAL_FORMS`), number = total.value++;
  const row = document.createElement("div");
  row.innerHTML = document.getElementById("another-row").innerHTML.replaceAll("__prefix__", number);
  another.parentElement.before(...row.children);
  another.parentElement.previousElementSibling.querySelector("select, input:not([type=hidden])").focus();
});

/** Called by the window, as in the admin, with the new row: the form's field that opened it chooses the row. */
window.dismissAddRelatedObjectPopup = (opened, value, words) => {
  const field = document.getElementById(opened.name);
  const alike = [...document.querySelectorAll("select")].filter((one) => one === field || one.matches("[data-models]"));
  for (const select of alike) select.add(new Option(words, value, false, select === field));
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
  opened.close();
};
