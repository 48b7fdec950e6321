// The winners' films run together, on the studio's player.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const root = document.getElementById("films");
  if (root) Studio.player(root, { fps: Number(root.dataset.fps), onReady: () => {} });
});
