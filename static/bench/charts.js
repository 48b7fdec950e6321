// Puts uPlot in the place of the SVG that the server drew: one cursor through all charts of a group, values in words,
// arrow keys. Colours, dashes and markers are those of webapp/base/charts.py.
"use strict";

(() => {
  const DASHES = [[], [6, 4], [2, 3], [9, 3, 2, 3], [12, 4], [1, 4]];
  const plots = new Map();

  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = (value) => {
    if (value === null || value === undefined) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e3 && size < 1e5) return String(Math.round(value));
    return size >= 1e-3 && size < 1e5 ? String(Number(value.toPrecision(4))) : value.toExponential(1);
  };

  const marker = (index) => (u, series, i0, i1) => {
    const { ctx } = u, size = 3.2 * devicePixelRatio;
    ctx.save();
    ctx.fillStyle = ctx.strokeStyle = u.series[series]._stroke || u.series[series].stroke(u, series);
    for (let i = i0; i <= i1; i++) {
      if (u.data[series][i] == null) continue;
      const x = u.valToPos(u.data[0][i], "x", true), y = u.valToPos(u.data[series][i], "y", true);
      ctx.beginPath();
      if (index === 0) ctx.arc(x, y, size, 0, 7);
      else if (index === 1) ctx.rect(x - size, y - size, 2 * size, 2 * size);
      else { ctx.moveTo(x, y - size * 1.2); ctx.lineTo(x + size * 1.2, y + size); ctx.lineTo(x - size * 1.2, y + size); }
      ctx.fill();
    }
    ctx.restore();
    return false;
  };

  const options = (figure, data, place) => {
    const ink = token("--ink-2"), font = `12px ${token("--font")}`;
    const axis = { stroke: ink, font, labelFont: font, grid: { stroke: token("--grid"), width: 1 }, ticks: { show: false } };
    return {
      width: place.clientWidth,
      height: Number(figure.dataset.height),
      legend: { show: false },
      cursor: { sync: { key: data.wholeX ? "rounds" : "training" }, drag: { x: false, y: false } },
      scales: { x: { time: false, range: data.xRange } },
      axes: [
        { ...axis, label: data.x, labelSize: 22, size: 28, ...(data.wholeX ? { incrs: [1, 2, 5, 10] } : { splits: [0, 25, 50, 75, 100] }) },
        { ...axis, label: data.y, labelSize: 22, size: 56, values: (u, ticks) => ticks.map(short) },
      ],
      series: [{ label: data.x }, ...data.names.map((name, i) => {
        const colour = token(`--series-${(i % 6) + 1}`);
        return { label: name, stroke: () => colour, width: 2, dash: DASHES[i % 6], points: { show: data.data[0].length <= 24 ? marker(i % 3) : false } };
      })],
      hooks: { setCursor: [(u) => read(figure, data, u.cursor.idx)] },
    };
  };

  const read = (figure, data, index) => {
    const out = figure.querySelector(".readout");
    if (index === null || index === undefined) { out.textContent = ""; return; }
    const values = data.names.map((name, i) => `${data.names.length > 1 ? `${name} ` : ""}${short(data.data[i + 1][index])}`);
    out.textContent = `${data.x} ${short(data.data[0][index])}: ${values.join(", ")}`;
  };

  const draw = (figure) => {
    const place = figure.querySelector(".plot");
    const data = JSON.parse(figure.querySelector("script").textContent);
    if (!place.clientWidth || !data.data[0].length) return;
    const old = plots.get(figure);
    if (old) old.destroy(); else place.replaceChildren();
    plots.set(figure, new uPlot(options(figure, data, place), data.data, place));
  };

  const drawAll = () => {
    for (const figure of plots.keys()) if (!figure.isConnected) { plots.get(figure).destroy(); plots.delete(figure); }
    for (const figure of document.querySelectorAll("[data-figure]")) if (!plots.has(figure)) draw(figure);
  };

  document.addEventListener("keydown", (event) => {
    const place = event.target.closest && event.target.closest(".plot");
    const plot = place && plots.get(place.closest("[data-figure]"));
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!plot || !step) return;
    event.preventDefault();
    const length = plot.data[0].length, now = plot.cursor.idx;
    const index = now === null || now === undefined ? (step > 0 ? 0 : length - 1) : Math.min(length - 1, Math.max(0, now + step));
    const y = plot.data.slice(1).map((column) => column[index]).find((value) => value !== null);
    plot.setCursor({ left: plot.valToPos(plot.data[0][index], "x"), top: y === undefined ? 0 : plot.valToPos(y, "y") }, true, true);
  });
  // Of the charts that follow one cursor, only the one with the focus is read out.
  const announce = (event, live) => {
    const figure = event.target.matches && event.target.matches(".plot") && event.target.closest("[data-figure]");
    if (figure) figure.querySelector(".readout").ariaLive = live;
  };
  document.addEventListener("focusin", (event) => announce(event, "polite"));
  document.addEventListener("focusout", (event) => announce(event, "off"));

  let timer = 0;
  const again = () => { clearTimeout(timer); timer = setTimeout(() => { for (const figure of plots.keys()) if (figure.isConnected) draw(figure); }, 120); };
  addEventListener("resize", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  document.addEventListener("DOMContentLoaded", drawAll);
  document.addEventListener("htmx:afterSettle", drawAll);
  document.addEventListener("htmx:oobAfterSwap", () => setTimeout(drawAll, 0));
})();
