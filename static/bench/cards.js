// Cards play their clip while pointed at or focused, and open in the panel. Without this file they are plain links.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const panel = document.getElementById("panel");
  const body = document.getElementById("panel-body");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let opener = "";

  const play = (card) => {
    const video = card.querySelector("video[data-src]");
    if (!video || calm.matches) return;
    if (!video.src) video.src = video.dataset.src;
    video.play().catch(() => {}); // it was left again before it began
  };
  const stop = (card) => {
    const video = card.querySelector("video[data-src]");
    if (video && video.src && !card.contains(document.activeElement) && !card.matches(":hover")) {
      video.pause();
      video.currentTime = 0;
    }
  };
  const card = (event) => event.target.closest && event.target.closest(".card");
  document.addEventListener("pointerover", (event) => { if (card(event)) play(card(event)); });
  document.addEventListener("pointerout", (event) => { if (card(event)) setTimeout(stop, 0, card(event)); });
  document.addEventListener("focusin", (event) => { if (card(event)) play(card(event)); });
  document.addEventListener("focusout", (event) => { if (card(event)) setTimeout(stop, 0, card(event)); });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target !== body) return;
    const link = event.detail.requestConfig.elt;
    if (!panel.contains(link)) opener = link.id;
    if (!panel.open) panel.showModal();
    panel.scrollTop = 0;
    body.querySelector("#candidate-details-title").focus();
  });
  panel.addEventListener("close", () => {
    body.replaceChildren();
    const back = document.getElementById(opener);
    if (back) back.focus();
  });
  panel.addEventListener("keydown", (event) => {
    const turn = { ArrowLeft: "previous", ArrowRight: "next" }[event.key];
    const busy = event.target.closest("input, select, textarea, video, [data-figure], pre, .code, .diff");
    if (!turn || busy || event.altKey || event.ctrlKey || event.metaKey) return;
    const link = body.querySelector(`[data-turn="${turn}"]`);
    if (link) link.click();
  });

  // Six cards in a row: arrow keys walk along it.
  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const here = step && event.target.closest && event.target.closest(".cards .open");
    if (!here) return;
    const row = [...here.closest(".cards").querySelectorAll(".open")];
    const next = row[row.indexOf(here) + step];
    if (next) { event.preventDefault(); next.focus(); }
  });
});
