// Reading values off the figures. Each figure has a list of panels beside it: `box` is the panel's place on the canvas,
// `grids` the values of x with their places, `lines` the values of y with theirs, if drawn as lines. Places are fractions
// of the panel.
"use strict";
(() => {
  const make = (tag, name, parent, text = "") => {
    const element = document.createElement(tag);
    element.className = name;
    element.textContent = text;
    parent.append(element);
    return element;
  };
  const percent = (fraction) => `${(100 * fraction).toFixed(3)}%`;
  const colour = (line) => `var(--c-${line.colour})`;

  function words(value) {
    if (value === null || value === undefined) return "no value";
    if (typeof value === "string") return value; // the open end of a band
    const size = Math.abs(value);
    const whole = Number.isInteger(value) && size < 1e6;
    const text = whole ? (size < 1e4 ? String(value) : value.toLocaleString("en-GB"))
      : size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2)
      : String(Number(value.toPrecision(4)));
    return text.replaceAll("-", "−");
  }

  function nearest(places, at) {
    let best = 0;
    places.forEach((place, i) => { if (Math.abs(place - at) < Math.abs(places[best] - at)) best = i; });
    return best;
  }

  let shown = null; // the one panel that shows values, by how to hide it
  const hide = () => { if (shown) shown(); shown = null; };

  function read(panel, canvas, scroller) {
    const area = make("div", "panel", canvas);
    const [left, top, width, height] = panel.box;
    Object.assign(area.style, { left: percent(left), top: percent(top), width: percent(width), height: percent(height) });
    // Every place of x once, in order: what the arrow keys go through.
    const stops = [];
    panel.grids.forEach((grid) => grid.at.forEach((at, i) => stops.push({ at, x: grid.x[i] })));
    stops.sort((a, b) => a.at - b.at);
    const steps = stops.filter((stop, i) => i === 0 || stop.at !== stops[i - 1].at);
    if (steps.length === 0) return;
    let current = -1;

    Object.entries({ tabindex: "0", role: "slider", "aria-label": `Read values off: ${panel.name}`, "aria-valuemin": "1",
      "aria-valuemax": String(steps.length), "aria-valuenow": "1", "aria-valuetext": "use the arrow keys" })
      .forEach(([key, value]) => area.setAttribute(key, value));

    function show(step) {
      hide();
      current = Math.max(0, Math.min(steps.length - 1, step));
      const { at, x } = steps[current];
      const parts = [make("div", "guide", area)];
      parts[0].style.left = percent(at);
      const box = make("div", "box", canvas);
      parts.push(box);
      make("b", "", box, `${panel.across}: ${words(x)}`);
      const body = make("tbody", "", make("table", "", box));
      const spoken = [`${panel.across} ${words(x)}`];
      for (const line of panel.lines) {
        const grid = panel.grids[line.grid];
        if (grid.at.length === 0) continue;
        const i = nearest(grid.at, at);
        const row = make("tr", "", body);
        const name = make("td", "", row);
        if (line.colour) make("i", "", name).style.background = colour(line);
        name.append(line.label);
        const value = make("td", "", row, words(line.y[i]));
        if (grid.x[i] !== x) make("small", "", name, `at ${words(grid.x[i])}`);
        if (line.lower && line.y[i] !== null) make("small", "", value, `${words(line.lower[i])} to ${words(line.upper[i])}`);
        spoken.push(`${line.label}: ${words(line.y[i])}`);
        const height = line.colour ? line.at[i] : null;
        if (height !== null && height >= 0 && height <= 1) {
          const dot = make("div", "dot", area);
          Object.assign(dot.style, { left: percent(grid.at[i]), top: percent(1 - height), background: colour(line) });
          parts.push(dot);
        }
      }
      area.setAttribute("aria-valuenow", String(current + 1));
      area.setAttribute("aria-valuetext", spoken.join("; "));
      place(box, (left + width * at) * canvas.clientWidth, top * canvas.clientHeight);
      shown = () => parts.forEach((part) => part.remove());
    }

    // Beside the guide, on the side with room, within what is visible of a figure that scrolls.
    function place(box, guide, above) {
      const start = scroller.scrollLeft + 4;
      const end = scroller.scrollLeft + scroller.clientWidth - 4;
      const right = guide + 14;
      const wanted = right + box.offsetWidth <= end ? right : guide - 14 - box.offsetWidth;
      box.style.left = `${Math.max(start, Math.min(wanted, end - box.offsetWidth))}px`;
      box.style.top = `${Math.max(0, Math.min(above + 8, canvas.clientHeight - box.offsetHeight))}px`;
    }

    const follow = (event) => {
      const bounds = area.getBoundingClientRect();
      show(nearest(steps.map((step) => step.at), (event.clientX - bounds.left) / bounds.width));
    };
    area.addEventListener("pointermove", follow);
    area.addEventListener("pointerdown", follow);
    area.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    area.addEventListener("blur", hide);
    area.addEventListener("focus", () => { if (area.matches(":focus-visible")) show(Math.max(current, 0)); });
    area.addEventListener("keydown", (event) => {
      const far = Math.max(2, Math.round(steps.length / 10));
      const moves = { ArrowRight: current + 1, ArrowUp: current + 1, ArrowLeft: current - 1, ArrowDown: current - 1,
        PageUp: current + far, PageDown: current - far, Home: 0, End: steps.length - 1 };
      if (event.key === "Escape") hide();
      if (!(event.key in moves)) return;
      event.preventDefault();
      show(moves[event.key]);
    });
  }

  for (const data of document.querySelectorAll("script.readings")) {
    const figure = data.closest("figure");
    JSON.parse(data.textContent).forEach((panel) => read(panel, figure.querySelector(".canvas"), figure.querySelector(".scroller")));
  }
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest(".panel")) hide(); });

  // On paper, everything is open.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((each) => { each.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((each) => { each.open = false; }));
})();
