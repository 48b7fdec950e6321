// The language in which one's texts are written is not offered once more.
"use strict";

(() => {
  const own = document.querySelector('select[name="language"]');
  function hideOwn() {
    for (const choice of own.form.querySelectorAll('[name="other_languages"]')) choice.closest("label").hidden = choice.value === own.value;
  }
  hideOwn();
  own.addEventListener("change", hideOwn);
})();
