"use strict";
const WORDS = {}; /* the server puts the words of the person's language here */
/* Shows that a round is ready, also when no page is open. It fetches and stores nothing. */
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  let told = {};
  try { told = event.data ? event.data.json() : {}; } catch { told = {}; }
  const url = typeof told.url === "string" && told.url.startsWith("/") && !told.url.startsWith("//") ? told.url : "/";
  event.waitUntil(self.registration.showNotification(told.title || WORDS.ready, {
    body: told.body || "", tag: told.tag || "prefine", icon: "/static/studio/mark.svg", data: { url },
  }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = new URL(event.notification.data?.url || "/", self.location.origin).href;
  event.waitUntil((async () => {
    const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    const open = pages.find((page) => page.url.startsWith(url));
    return open ? open.focus() : self.clients.openWindow(url);
  })());
});
