"use strict";
/* What pages share on which people choose: the best and the worst, what is missing, and what is kept in this tab. */
window.Studio = window.Studio || {};

/** `tiles`: what is chosen among; `links`: the selector of the letters beside them; `cannots`: boxes that say that one cannot judge;
    `texts`: what is missing (any, both, best, worst). */
Studio.choice = (form, { tiles, links, cannots, texts }) => {
  const needsWorst = form.dataset.worst === "yes";
  const kinds = needsWorst ? ["best", "worst"] : ["best"];
  const words = { best: gettext("Best"), worst: gettext("Worst") };
  const confirm = form.querySelector(".confirm .button"), reason = form.querySelector("#reason");
  const why = form.querySelector(".why"), memory = `prefine ${form.dataset.screening}`;

  const radio = (kind, letter) => [...form.querySelectorAll(`input[name="${kind}"]`)].find((one) => one.value === letter);
  const chosen = (kind) => form.querySelector(`input[name="${kind}"]:checked`)?.value || "";
  const link = (tile) => form.querySelector(`${links} [data-letter="${tile.dataset.letter}"]`);

  /** The best is not the worst, and who chooses can judge. */
  function exclude(kind) {
    const other = kind === "best" ? "worst" : "best";
    if (chosen(kind) && chosen(kind) === chosen(other)) radio(other, chosen(other)).checked = false;
    if (chosen(kind)) for (const box of cannots) box.checked = false;
  }
  function unchoose() { for (const kind of kinds) if (radio(kind, chosen(kind))) radio(kind, chosen(kind)).checked = false; }
  /** Why the choice cannot be confirmed yet; empty when it can. */
  function wanting() {
    if (cannots.some((box) => box.checked)) return "";
    const best = chosen("best"), worst = chosen("worst");
    if (!needsWorst) return best ? "" : texts.any;
    if (!best && !worst) return texts.both;
    return best ? (worst ? "" : texts.worst) : texts.best;
  }
  function draw(missing) {
    for (const tile of tiles) {
      const kind = kinds.find((one) => chosen(one) === tile.dataset.letter);
      for (const shown of [tile, link(tile)]) {
        shown.classList.toggle("is-best", kind === "best");
        shown.classList.toggle("is-worst", kind === "worst");
      }
      tile.querySelector(".badge").textContent = kind ? words[kind] : "";
    }
    confirm.disabled = Boolean(missing);
    if (reason.textContent !== missing) reason.textContent = missing;
    why?.classList.toggle("is-said", Boolean(form.querySelector(".why :checked") || form.elements.reason?.value.trim()));
  }

  // --- kept in this tab ---
  function remember() {
    const tags = [...form.querySelectorAll("[name=tags]:checked")].map((one) => one.value);
    const kept = { best: chosen("best"), worst: chosen("worst"), cannot: cannots.find((box) => box.checked)?.name, tags, reason: form.elements.reason?.value };
    sessionStorage.setItem(memory, JSON.stringify(kept));
  }
  function recall() {
    const kept = JSON.parse(sessionStorage.getItem(memory) || "{}");
    for (const kind of kinds) if (kept[kind] && radio(kind, kept[kind])) radio(kind, kept[kind]).checked = true;
    for (const box of cannots) box.checked = [box.name, true].includes(kept.cannot); // true: kept by an earlier version of this page
    for (const tag of form.querySelectorAll("[name=tags]")) tag.checked = kept.tags?.includes(tag.value) || false;
    if (form.elements.reason && kept.reason) form.elements.reason.value = kept.reason;
  }
  return { kinds, confirm, why, radio, chosen, link, exclude, unchoose, wanting, draw, remember, recall };
};

/** A move elsewhere, by mouse or by Tab, shuts these boxes: it shows what is below. */
Studio.shutElsewhere = (form, boxes) => {
  for (const gone of ["click", "focusin"]) document.addEventListener(gone, function shut(event) {
    if (!form.isConnected) return document.removeEventListener(gone, shut);
    for (const box of boxes) if (box?.open && !box.contains(event.target)) box.open = false;
  });
};

/** Opens all parts of the answers, or closes them. */
Studio.foldAll = (form, fold) => {
  const open = fold.getAttribute("aria-pressed") !== "true";
  for (const part of form.querySelectorAll(".answer .part")) part.open = open;
  fold.setAttribute("aria-pressed", String(open));
  fold.textContent = open ? gettext("Close all parts") : gettext("Open all parts");
};

Studio.act = (event, what) => { event.preventDefault(); what(); };
