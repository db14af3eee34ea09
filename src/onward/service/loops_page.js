// Asks the server every few seconds and shows what it says. The loop is the one that the address names: #news.
(() => {
  const find = (id) => document.getElementById(id);
  const every = Number(find("content").dataset.every);
  const MOST = { loops: 100, actions: 15, decisions: 20, coefficients: 25, timeout: 10000 };
  const KEPT = "onward-token";
  let drawn = null; // the state that is shown, so that charts can be drawn anew when the window changes
  let timer = 0;
  let asking = null;
  let failures = 0;
  const opened = new Set();
  let allCoefficients = false;

  class Refused extends Error {}
  class Missing extends Error {}

  async function ask(path, signal) {
    const token = sessionStorage.getItem(KEPT);
    const answer = await fetch(path, { signal, cache: "no-store", headers: token ? { authorization: `Bearer ${token}` } : {} });
    if (answer.ok) return answer.json();
    const said = (await answer.json().catch(() => ({})))?.error?.message ?? `the server answered ${answer.status}`;
    if (answer.status === 401 || (answer.status === 403 && token)) throw new Refused(said);
    if (answer.status === 404) throw new Missing(said);
    throw new Error(said);
  }

  function wanted() {
    try { return decodeURIComponent(location.hash.slice(1)); } catch { return location.hash.slice(1); }
  }
  const path = (loop) => `v1/loops/${encodeURIComponent(loop)}`;

  async function refresh() {
    clearTimeout(timer);
    asking?.abort();
    const control = asking = new AbortController();
    const limit = setTimeout(() => control.abort(new Error("no answer within 10 s")), MOST.timeout);
    let wait = every;
    try {
      const { loops } = await ask("v1/loops", control.signal);
      const name = wanted() || (loops.length === 1 ? loops[0] : "");
      const listed = loops.slice(0, MOST.loops);
      const gone = (error) => { if (error instanceof Missing) return null; throw error; };
      const [states, state, decisions] = await Promise.all([
        Promise.all(listed.map((each) => ask(path(each), control.signal).catch(gone))),
        name ? ask(`${path(name)}/state`, control.signal).catch(gone) : null,
        name ? ask(`${path(name)}/decisions?limit=${MOST.decisions}`, control.signal).catch(gone) : null,
      ]);
      if (control !== asking) return;
      failures = 0;
      trouble(name && !state ? `There is no loop ${name}.` : "");
      document.body.classList.remove("away");
      find("entry").hidden = true;
      showList(states.filter(Boolean), name, loops.length);
      showLoop(state, decisions);
      find("when").textContent = `As of ${clock(Date.now() / 1000, false)}`;
    } catch (error) {
      if (control !== asking) return;
      const refused = error instanceof Refused;
      failures += 1;
      wait = Math.min(every * 2 ** Math.min(failures - 1, 3), 15000);
      document.body.classList.toggle("away", !refused);
      if (refused) askForToken(error.message);
      else trouble(error instanceof TypeError ? "The server does not answer. This page asks again by itself." : `The server cannot say: ${error.message}. This page asks again by itself.`);
      if (refused) return; // until there is another token
    } finally {
      clearTimeout(limit);
    }
    if (!document.hidden) timer = setTimeout(refresh, wait);
  }

  function trouble(text) {
    const place = find("trouble");
    if (place.textContent !== text) place.textContent = text;
    place.hidden = !text;
  }

  function askForToken(said) {
    trouble(sessionStorage.getItem(KEPT) ? `The token was refused: ${said}` : "");
    sessionStorage.removeItem(KEPT);
    for (const id of ["all", "one"]) find(id).hidden = true;
    find("when").textContent = "";
    const form = find("entry");
    if (form.hidden) { form.hidden = false; find("token").focus(); }
  }

  // What is replaced may have the focus: then what takes its place gets it.
  function replace(place, ...parts) {
    const active = place.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    place.replaceChildren(...parts.filter(Boolean));
    if (active) [...place.querySelectorAll("[data-key]")].find((each) => each.dataset.key === active)?.focus({ preventScroll: true });
  }

  function showList(states, current, count) {
    find("all").hidden = false;
    find("empty").hidden = count > 0;
    if (count === 0) {
      const config = { policy: { name: "LinTS", seed: 7 }, reward: { wait: "2h", default: 0 }, explore: 0.05 };
      const token = sessionStorage.getItem(KEPT) ? " \\\n  -H 'authorization: Bearer …'" : "";
      find("first-line").textContent = `curl -X PUT ${new URL("v1/loops/news", document.baseURI).href}${token} \\\n  -H 'content-type: application/json' \\\n  -d '${JSON.stringify(config)}'`;
    }
    const rows = states.map((each) => {
      const link = element("a", { href: `#${encodeURIComponent(each.loop)}`, "data-key": each.loop, "aria-current": each.loop === current ? "true" : null }, each.loop);
      return [link, number(each.reward.mean), number(each.learned), number(each.pending), each.mode, number(each.version)];
    });
    const shown = count === 0 ? null : element("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Loops", "data-key": "\0list" },
      table(["loop", "mean reward", "learned", "pending", "mode", "version"], rows, "numbers loops", (i) => states[i].loop === current ? "current" : null));
    const more = count > states.length ? element("p", { class: "soft" }, `The first ${states.length} of ${count}.`) : null;
    replace(find("list"), shown, more);
  }

  function showLoop(state, decisions) {
    find("one").hidden = !state;
    document.title = state ? `${state.loop} – Decision loops` : "Decision loops";
    if (!state) { drawn = null; return; }
    if (drawn?.loop !== state.loop) { opened.clear(); allCoefficients = false; }
    drawn = state;
    const { statistics, config } = state;
    find("one-title").textContent = state.loop;
    const { name, ...settings } = config.policy;
    const told = Object.entries(settings).map(([key, value]) => `${key} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
    find("about").textContent = `${state.mode}; ${name ?? "policy"}${told ? ` (${told})` : ""}; exploration floor ${percent(config.explore)}; ` +
      `rewards: ${config.reward.aggregate}, within ${config.reward.wait}${finite(Number(config.reward.wait)) ? " s" : ""}, ` +
      `${config.reward.default === null ? "nothing learned without one" : `${number(config.reward.default)} without one`}.`;
    const changes = statistics.changes;
    const last = changes[changes.length - 1];
    replace(find("changes"), last ? element("p", { class: "remark warning" },
      `${state.changes === 1 ? "A change" : `${number(state.changes)} changes`} noticed: the relation between features and rewards has become another, last around reward ${number(last.reward)} (${clock(last.noticed, true)}). A policy that forgets may do better.`) : null);
    tiles(state);
    find("over-time-values").replaceChildren(table(["from", "decisions", "rewards", "mean", "mean so far", "band"], [...statistics.over_time].reverse().slice(0, 60).map((bin) =>
      [clock(bin.start, true), number(bin.decided), number(bin.rewards), number(bin.mean), number(bin.so_far.mean), `${number(bin.so_far.low)} to ${number(bin.so_far.high)}`])));
    find("calibration-values").replaceChildren(table(["estimate", "mean reward", "standard error"], statistics.calibration.map((each) => [number(each.estimate), number(each.reward), number(each.standard_error)])));
    charts();
    shares(statistics.actions);
    compared(state);
    showDecisions(decisions ?? []);
    coefficients(state);
  }

  function tiles(state) {
    const now = Date.now() / 1000;
    const { reward } = state;
    const pairs = [
      ["Mean reward", number(reward.mean), (finite(reward.low) ? `${number(reward.low, 3)} to ${number(reward.high, 3)}` : "no band yet") + (state.held ? `; ${number(state.held)} known rewards behind decisions that wait` : "")],
      ["Decisions", number(state.decided), `version ${number(state.version)}`],
      ["Learned", number(state.learned), `${number(state.expired)} ended without a reward`],
      ["Pending", number(state.pending), finite(state.oldest) ? `the oldest for ${span(now - state.oldest)}` : "nothing waits"],
      ["Not learned", number(state.late + state.already + state.unknown), `${number(state.late)} late, ${number(state.already)} repeated, ${number(state.unknown)} unknown`],
      ["Online error", number(state.error), finite(state.error_of_mean) ? `${number(state.error_of_mean)} with the mean alone` : "no reward yet"],
      ["Changes noticed", number(state.changes), `evidence now: ${number(state.e_value, 3)}`],
      ["Features", number(state.features), finite(state.leverage) ? `leverage ${number(state.leverage, 3)}` : "none seen yet"],
    ];
    find("tiles").replaceChildren(...pairs.map(([term, value, note]) => element("div", {}, element("dt", {}, term), element("dd", {}, value, element("small", {}, note)))));
  }

  function charts() {
    if (!drawn) return;
    const { statistics } = drawn;
    for (const [id, made, otherwise] of [
      ["over-time", (width) => rewardChart(width, statistics.over_time, statistics.changes), "It is drawn when a few rewards have come."],
      ["calibration", (width) => calibrationChart(width, statistics.calibration), "It takes twenty rewards."],
    ]) {
      const place = find(id);
      place.replaceChildren(made(Math.max(240, place.clientWidth)) ?? element("p", { class: "soft" }, otherwise));
    }
  }

  function shares(actions) {
    const all = actions.reduce((sum, each) => sum + each.decided, 0);
    if (!all) { find("shares").replaceChildren(element("p", { class: "soft" }, "No decision yet.")); return; }
    const rest = actions.slice(MOST.actions);
    const most = actions[0].decided;
    const rows = actions.slice(0, MOST.actions).map((each) => [each.id, bar(0, each.decided / most), percent(each.decided / all), number(each.decided), number(each.mean, 3)]);
    if (rest.length) {
      const decided = rest.reduce((sum, each) => sum + each.decided, 0);
      rows.push([`and ${rest.length} more`, bar(0, decided / most, "dim"), percent(decided / all), number(decided), ""]);
    }
    find("shares").replaceChildren(table(["action", "", "share", "decisions", "mean reward"], rows));
  }

  function compared(state) {
    const facts = (pairs) => element("dl", { class: "pairs" }, ...pairs.map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, value))));
    const { apprentice, shadow } = state;
    find("apprentice").hidden = !apprentice;
    if (apprentice) find("apprentice").replaceChildren(element("h3", {}, "What the policy would have done"),
      facts([["Agreement with the application", percent(apprentice.agreement)], ["Estimated gain a decision", number(apprentice.gain)],
        ["Mean reward where it agrees", number(apprentice.value)], ["Mean reward of the application", number(apprentice.reward)]]),
      element("p", { class: "soft" }, "The gain is the policy's own estimate, and may flatter it. The mean where it agrees is fair where the application chooses at random and says with which probability."));
    find("shadow").hidden = !shadow;
    if (shadow) find("shadow").replaceChildren(element("h3", {}, "Shadow policy"),
      facts([["Policy", shadow.policy.name ?? "–"], ["Value a decision (IPS)", finite(shadow.ips) ? `${number(shadow.ips)} ± ${number(2 * shadow.standard_error, 2)}` : "–"],
        ["Value (SNIPS)", number(shadow.snips)], ["Rewards", number(shadow.rewards)], ["Mean reward of the policy that decides", number(state.reward.mean)]]),
      element("p", { class: "soft" }, "What it would have earned, by inverse propensities, ± two standard errors. It learns from the same events and decides nothing."));
  }

  function why(decision) {
    const first = decision.actions.reduce((best, each) => each.probability > best.probability ? each : best);
    const taken = decision.actions.find((each) => each.id === decision.action) ?? first;
    if (decision.is_own) return ["own", "application's choice", `the policy's likeliest: ${first.id}, ${percent(first.probability)}`];
    if (taken.probability >= first.probability) return ["", "the likeliest", ""];
    return ["explored", "drawn", `the likeliest was ${first.id}, ${percent(first.probability)}`];
  }

  function weighed(decision) {
    const some = decision.actions.filter((each) => finite(each.estimate));
    const low = Math.min(...some.map((each) => each.estimate - each.width));
    const high = Math.max(...some.map((each) => each.estimate + each.width));
    const at = (value) => (value - low) / (high - low || 1);
    const order = [...decision.actions].sort((a, b) => b.probability - a.probability);
    const rows = order.map((each) => [each.id, finite(each.estimate) ? bar(at(each.estimate - each.width), at(each.estimate + each.width), "dim", at(each.estimate)) : "",
      finite(each.estimate) ? `${number(each.estimate, 3)} ± ${number(each.width, 2)}` : "–", percent(each.probability), each.id === decision.action ? "taken" : ""]);
    return table(["action", "", "estimate ± width", "probability", ""], rows, "numbers full", (i) => order[i].id === decision.action ? "taken" : null);
  }

  const words = (values) => Object.entries(values).map(([name, value]) => `${name}: ${typeof value === "number" ? number(value) : typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");

  function showDecisions(decisions) {
    if (decisions.length === 0) { replace(find("decisions"), element("p", { class: "soft" }, "No decision yet.")); return; }
    const shown = decisions.map((decision) => {
      const [kind, badge, note] = why(decision);
      const summary = element("summary", { "data-key": decision.event_id }, element("b", {}, decision.action), ` ${percent(decision.probability)} `,
        element("span", { class: `badge ${kind}` }, badge), " ", element("span", { class: "soft" }, [clock(decision.at, false), note].filter(Boolean).join(" · ")));
      const made = element("details", { class: "decision" }, summary,
        element("p", { class: "soft" }, `Event ${decision.event_id}, version ${number(decision.version)}. Context – ${words(decision.context) || "empty"}`),
        element("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": `Actions of event ${decision.event_id}` }, weighed(decision)));
      made.open = opened.has(decision.event_id);
      made.addEventListener("toggle", () => { if (made.isConnected) opened[made.open ? "add" : "delete"](decision.event_id); });
      return made;
    });
    replace(find("decisions"), ...shown);
  }

  function coefficients(state) {
    const all = Object.entries(state.coefficients).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    find("coefficients-about").textContent = all.length ? `Of ${all.length} features, the largest first. Products stand as context and action joined by a colon.` : "None yet.";
    if (!all.length) { replace(find("coefficients")); return; }
    const most = Math.abs(all[0][1]) || 1;
    const rows = all.slice(0, allCoefficients ? all.length : MOST.coefficients).map(([name, value]) => [name, bar(0.5, 0.5 + value / most / 2, value < 0 ? "less" : ""), number(value)]);
    let button = null;
    if (all.length > MOST.coefficients) {
      button = element("button", { type: "button", "data-key": "\0all" }, allCoefficients ? "Show fewer" : `Show all ${all.length}`);
      button.addEventListener("click", () => { allCoefficients = !allCoefficients; coefficients(drawn); });
    }
    replace(find("coefficients"), table(["feature", "", "coefficient"], rows), button);
  }

  find("entry").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEPT, find("token").value.trim());
    find("token").value = "";
    refresh();
  });
  find("skip").addEventListener("click", (event) => { event.preventDefault(); find("content").focus(); });
  addEventListener("hashchange", async () => { await refresh(); if (drawn) find("one-title").focus(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); else clearTimeout(timer); });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; charts(); } });
  refresh();
})();
