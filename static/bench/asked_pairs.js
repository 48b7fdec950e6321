// The two films of a pair run together, again once both have ended, as people see them. Without this file their names are
// links to the films.
"use strict";

(() => {
  const find = (part) => [...part.closest("li").querySelectorAll("video")];
  const play = (videos) => {
    for (const video of videos) {
      video.currentTime = 0;
      video.play().catch(() => {}); // it was stopped before it began
    }
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-together]");
    if (!button) return;
    const videos = find(button), still = videos.every((video) => video.paused || video.ended);
    if (still) play(videos); else for (const video of videos) video.pause();
    button.textContent = still ? "Stop" : "Play";
  });
  document.addEventListener("ended", ({ target }) => {
    if (!target.closest(".asked")) return;
    const videos = find(target);
    if (videos.every((video) => video.ended || video.error)) play(videos);
  }, true);
})();
