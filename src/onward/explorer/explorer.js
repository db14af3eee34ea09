// The page: four parts as tabs, their state in the address, and the Python that gives the same numbers.
(() => {
  const PARTS = [rowPart, mapPart, peekingPart, decidePart];
  const byId = (id) => PARTS.find((part) => part.id === id);
  const states = Object.fromEntries(PARTS.map((part) => [part.id, initialState(part.fields)]));
  const mounted = new Set();
  let current = null, written = null, waiting = null;

  // Not the name in the address: a browser would scroll to an element of that name.
  const panelOf = (part) => document.getElementById(`panel-${part.id}`);
  const tabOf = (part) => document.getElementById(`tab-${part.id}`);

  function refresh(part) {
    part.draw(states[part.id]);
    const code = panelOf(part).querySelector(".python");
    if (code.open) code.querySelector("code").textContent = part.python(states[part.id]);
  }

  function change(part, patch) {
    states[part.id] = { ...states[part.id], ...patch }; // a new one: parts compare it with what they drew
    refresh(part);
    clearTimeout(waiting);
    waiting = setTimeout(write, 120); // browsers allow so many changes of the address a minute only
  }

  function write() {
    written = `#${writeState(current.id, current.fields, states[current.id])}`;
    try { history.replaceState(null, "", written); } catch { /* embedded where the address cannot be changed */ }
  }

  function show(part, focus = false) {
    if (current && current !== part) current.playing?.stop();
    current = part;
    for (const each of PARTS) {
      panelOf(each).hidden = each !== part;
      tabOf(each).setAttribute("aria-selected", each === part);
      tabOf(each).tabIndex = each === part ? 0 : -1;
    }
    if (!mounted.has(part.id)) {
      mounted.add(part.id);
      part.mount(panelOf(part), (patch) => change(part, patch));
      addPython(part);
    }
    refresh(part);
    if (focus) tabOf(part).focus();
  }

  function addPython(part) {
    const place = panelOf(part).querySelector(".python"), code = element("code");
    const told = element("span", { role: "status", class: "soft" });
    const copy = button("Copy", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        told.textContent = " Copied.";
      } catch {
        getSelection().selectAllChildren(code);
        told.textContent = " Selected: copy it with Ctrl-C.";
      }
      setTimeout(() => { told.textContent = ""; }, 4000);
    });
    place.append(element("p", { class: "soft" }, "With the onward library this prints the numbers above, from the same random numbers. ", copy, told), element("pre", { tabindex: 0, "aria-label": "Python code" }, code));
    place.addEventListener("toggle", () => refresh(part));
  }

  function readAddress() {
    if (location.hash === written) return;
    const [id, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
    const part = byId(id) ?? current ?? PARTS[0];
    if (byId(id)) states[id] = readState(part.fields, query);
    show(part);
  }

  // In a frame, as in the documentation: the page around is told how high this one is, and may say which theme it has.
  function embedded() {
    const dark = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule.media?.mediaText.includes("prefers-color-scheme: dark"));
    addEventListener("message", ({ source, data }) => {
      if (source !== parent || !["light", "dark"].includes(data?.theme)) return;
      for (const rule of dark) rule.media.mediaText = data.theme === "dark" ? "screen" : "not all";
      document.documentElement.style.colorScheme = data.theme;
    });
    const tell = (ready) => parent.postMessage({ height: document.documentElement.offsetHeight, ready }, "*");
    new ResizeObserver(() => tell(false)).observe(document.documentElement);
    tell(true);
  }

  for (const part of PARTS) {
    tabOf(part).addEventListener("click", () => { show(part); write(); });
    tabOf(part).addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      show(PARTS[(PARTS.indexOf(part) + by + PARTS.length) % PARTS.length], true);
      write();
    });
  }
  addEventListener("hashchange", readAddress);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; current.draw(states[current.id]); } });
  document.documentElement.classList.add("ready");
  readAddress();
  if (parent !== window) embedded();
  // For a console, and for tests: the mathematics, and what each part shows.
  globalThis.explorer = { Random, Factor, ellipse, drawProblem, expectedRegrets, playTest, drawWorld, playPolicy, states, parts: Object.fromEntries(PARTS.map((part) => [part.id, part])) };
})();
