// Runs a cursor through the charts of a group, over the SVG that the server drew: values in words, by pointer or arrow
// keys. Without it the page lacks the cursor alone: the numbers are in the table under each chart.
"use strict";

(() => {
  const known = new WeakMap();
  const cursorOf = (figure) => {
    if (!known.has(figure)) known.set(figure, { ...JSON.parse(figure.querySelector("script").textContent), index: null });
    return known.get(figure);
  };
  const nearest = (values, wanted) => values.reduce((best, value, i) => (Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? i : best), 0);

  const short = (value) => {
    if (value === null || value === undefined) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e3 && size < 1e5) return String(Math.round(value));
    return size >= 1e-3 && size < 1e5 ? String(Number(value.toPrecision(4))) : value.toExponential(1);
  };

  const drawings = (figure) => [...figure.querySelectorAll(".plot > svg")]; // the page shows one of them
  const line = (svg) => svg.querySelector(".cursor") || svg.appendChild(document.createElementNS(svg.namespaceURI, "line"));

  const show = (figure, index) => {
    const cursor = cursorOf(figure), out = figure.querySelector(".readout");
    cursor.index = index;
    drawings(figure).forEach((svg, i) => {
      const { at, top, bottom } = cursor.places[i], mark = line(svg);
      mark.setAttribute("class", index === null ? "cursor hidden" : "cursor");
      if (index === null) return;
      for (const [name, value] of Object.entries({ x1: at[index], x2: at[index], y1: top, y2: bottom })) mark.setAttribute(name, value);
    });
    if (index === null) { out.textContent = ""; return; }
    const [xs, ...columns] = cursor.columns;
    const values = columns.map((column, i) => `${columns.length > 1 ? `${cursor.names[i]} ` : ""}${short(column[index])}`);
    out.textContent = `${cursor.x} ${short(xs[index])}: ${values.join(", ")}`;
  };

  const move = (figure, index) => {
    const from = cursorOf(figure);
    for (const other of document.querySelectorAll("[data-figure]")) {
      const cursor = cursorOf(other);
      if (cursor.group === from.group) show(other, index === null ? null : nearest(cursor.columns[0], from.columns[0][index]));
    }
  };

  const figureOf = (event) => event.target.closest && event.target.closest("[data-figure] .plot")?.closest("[data-figure]");
  document.addEventListener("pointermove", (event) => {
    const figure = figureOf(event);
    if (!figure) return;
    const i = drawings(figure).findIndex((svg) => svg.getBoundingClientRect().width);
    const svg = drawings(figure)[i], box = svg.getBoundingClientRect();
    move(figure, nearest(cursorOf(figure).places[i].at, ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width));
  });
  document.addEventListener("pointerout", (event) => {
    const figure = figureOf(event);
    if (figure && !figure.querySelector(".plot").contains(event.relatedTarget)) move(figure, null);
  });
  document.addEventListener("keydown", (event) => {
    const figure = figureOf(event), step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!figure || !step) return;
    event.preventDefault();
    const { index, places } = cursorOf(figure), last = places[0].at.length - 1;
    move(figure, index === null ? (step > 0 ? 0 : last) : Math.min(last, Math.max(0, index + step)));
  });

  // Of the charts that follow one cursor, only the one with the focus is read out.
  const announce = (event, live) => {
    const figure = event.target.matches && event.target.matches(".plot") && event.target.closest("[data-figure]");
    if (figure) figure.querySelector(".readout").ariaLive = live;
  };
  document.addEventListener("focusin", (event) => announce(event, "polite"));
  document.addEventListener("focusout", (event) => announce(event, "off"));
})();
