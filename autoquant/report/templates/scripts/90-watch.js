// A watched page takes its new version every minute and stays where it was. Its place lies in the history entry, which
// a reload keeps, also for a file. It waits while somebody is busy with it.

{
  const BUSY = 60_000;
  const CONTROLS = "input, select, textarea, button";
  const FOCUSABLE = `a, summary, svg[tabindex], [tabindex], ${CONTROLS}`;
  let active = -BUSY;

  // Keys that outlive a new drawing: an id, else the section, the class and the place among its like.
  const keyed = (elements) => {
    const counts = {};
    return new Map(
      elements.map((element) => {
        const near = element.parentElement.closest("[id], section");
        const home = near?.id || near?.getAttribute("aria-labelledby") || "";
        const base = element.id || `${home} ${element.localName}.${element.getAttribute("class") ?? ""} ${element.name ?? ""}`;
        counts[base] = (counts[base] ?? 0) + 1;
        return [element, `${base} ${counts[base]}`];
      }),
    );
  };

  // What stands at the top of the window: rows and headings keep their names when more is above them.
  const anchor = () => {
    const shown = all("h2[id], [id^='attempt-']").filter((element) => element.getClientRects().length);
    const element = shown.findLast((found) => found.getBoundingClientRect().top < 80);
    return element ? { id: element.id, top: element.getBoundingClientRect().top } : { id: "", top: -scrollY };
  };

  const isSwitch = (field) => /^(radio|checkbox)$/.test(field.type);
  const fields = () => all("input, select, textarea").filter((field) => field.id !== "replay");
  const folds = keyed(all("details"));
  const asDrawn = new Map([...folds.keys()].map((details) => [details, details.open]));

  const stateOf = () => ({
    anchor: anchor(),
    folds: Object.fromEntries([...folds].filter(([fold]) => fold.open !== asDrawn.get(fold)).map(([fold, key]) => [key, fold.open])),
    fields: Object.fromEntries([...keyed(fields())].map(([field, key]) => [key, isSwitch(field) ? field.checked : field.value])),
    kept: Object.fromEntries(keepers.map((keeper) => [keeper.name, keeper.get()])),
    focus: keyed(all(FOCUSABLE)).get(document.activeElement) ?? "",
    share: moment.share,
  });

  const restore = (state) => {
    for (const [field, key] of keyed(fields())) {
      const [value, name] = [state.fields[key], isSwitch(field) ? "checked" : "value"];
      if (value === undefined || field[name] === value) continue;
      field[name] = value;
      if (value === false && field.type === "radio") continue;
      for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
    }
    for (const keeper of keepers) if (keeper.name in state.kept) keeper.set(state.kept[keeper.name]);
    for (const [fold, key] of folds) fold.open = state.folds[key] ?? fold.open;
    const scrub = document.getElementById("replay");
    if (scrub && state.share < 1) {
      scrub.valueAsNumber = state.share * Number(scrub.max);
      scrub.dispatchEvent(new Event("input"));
    }
    const { competitor, attempt } = place.get();
    place.mark(data.competitors.indexOf(competitor), attempt);
    for (const [element, key] of keyed(all(FOCUSABLE))) if (key === state.focus) element.focus({ preventScroll: true });
    const element = document.getElementById(state.anchor.id);
    scrollTo({ top: scrollY + (element?.getBoundingClientRect().top ?? -scrollY) - state.anchor.top, behavior: "instant" });
  };

  const busy = () => {
    const inUse = document.activeElement?.matches(CONTROLS) && performance.now() - active < BUSY;
    return moment.playing || inUse || !(getSelection()?.isCollapsed ?? true);
  };

  const before = data.reload && history.state?.autoquant;
  if (before) {
    restore(before);
  } else {
    place.follow();
  }

  if (data.reload) {
    history.scrollRestoration = "manual";
    for (const kind of ["pointerdown", "keydown", "input"]) addEventListener(kind, () => (active = performance.now()), true);
    // A reload by hand keeps its place too.
    const keep = () => history.replaceState({ autoquant: stateOf() }, "");
    addEventListener("beforeunload", keep);
    const renew = () => {
      if (busy()) return setTimeout(renew, 1_000);
      keep();
      location.reload();
    };
    setTimeout(renew, data.reload * 1_000);
  }
}
