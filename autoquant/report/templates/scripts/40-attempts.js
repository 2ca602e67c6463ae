// The tables of every attempt: filter, sort, open, walk with j and k, point at the roll. What is chosen stands in the
// address beside the attempt: #who=sol&show=keep,search&find=funding&sort=-score

{
  const section = document.querySelector('section[aria-labelledby="attempts"]');
  const tables = section ? all("details.table", section) : [];
  const rows = tables.flatMap((table) =>
    all("table.attempts > tbody", table).map((body, order) => {
      const [, index, number] = body.id.split("-");
      const details = body.querySelector("details");
      const words = details.firstElementChild.textContent.toLowerCase();
      return { table, body, order, details, words, index: Number(index), number: Number(number), status: body.className.slice(3) };
    }),
  );

  const chosen = { who: "", show: "", find: "", sort: "" };
  const ours = Object.keys(chosen);
  const remember = () => place.set({ ...place.get(), ...chosen });

  const find = make("input", { type: "search", "aria-label": "find in what was tried", placeholder: "find in what was tried" });
  const who = make("select", { "aria-label": "competitor" }, make("option", { value: "" }, "all competitors"));
  const count = make("span", { class: "count" });
  const button = (words, act) => {
    const made = make("button", { type: "button", class: "tool" }, words);
    made.addEventListener("click", act);
    return made;
  };

  const isShown = (row) => !row.body.hidden && !row.table.hidden;

  // Hide what is not asked for. A table with none of it goes too; one with some opens, for who asks wants to see.
  const filter = (open) => {
    const statuses = new Set(chosen.show ? chosen.show.split(",") : []);
    const wanted = chosen.find.toLowerCase();
    const left = new Map(tables.map((table) => [table, 0]));
    for (const row of rows) {
      const fits = (!chosen.who || racers[row.index].name === chosen.who) && (!statuses.size || statuses.has(row.status));
      row.body.hidden = !fits || !row.words.includes(wanted);
      if (!row.body.hidden) left.set(row.table, left.get(row.table) + 1);
    }
    const asked = Boolean(chosen.who || chosen.show || chosen.find);
    for (const [table, number] of left) {
      table.hidden = asked && !number;
      if (open && asked && number) table.open = true;
    }
    const shown = rows.filter(isShown).length;
    const words = asked ? `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} attempts` : "";
    if (words && words !== count.textContent) say(words);
    count.textContent = words;
  };

  // A cell's worth: the number it begins with, its status's place, or its words; null for what is missing.
  const UNITS = { k: 1e3, M: 1e6, G: 1e9 };
  const worth = (row, column) => {
    const cell = row.body.rows[0].cells[column];
    if (column === 1) return data.statuses.indexOf(row.status);
    const words = cell.textContent.replace("−", "-").replaceAll(",", "");
    if (column === 5) return words;
    const [, number, unit] = words.match(/^\$?(-?\+?[\d.]+)\s?([kMG]?)/) ?? [];
    return number === undefined ? null : Number(number) * (UNITS[unit] ?? 1);
  };

  // The columns by the words of their heads; each table has its own heads, all show the one order.
  const heads = tables.flatMap((table) => all("table.attempts > thead th", table));
  const nameOf = (head) => head.textContent.trim();
  const sort = () => {
    const [falling, name] = chosen.sort.startsWith("-") ? [true, chosen.sort.slice(1)] : [false, chosen.sort];
    const column = heads.find((head) => nameOf(head) === name)?.cellIndex;
    for (const head of heads) {
      if (nameOf(head) === name) head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    for (const table of tables) {
      const own = rows.filter((row) => row.table === table).map((row) => ({ row, value: column === undefined ? row.order : worth(row, column) }));
      own.sort((a, b) => {
        if (a.value === null || b.value === null) return (a.value === null) - (b.value === null) || a.row.order - b.row.order;
        const order = typeof a.value === "string" ? a.value.localeCompare(b.value, "en") : a.value - b.value;
        return (falling ? -order : order) || a.row.order - b.row.order;
      });
      table.querySelector("table.attempts")?.append(...own.map(({ row }) => row.body));
    }
  };

  // The first press brings the largest up, of words and numbers of attempts the first; the third gives up the order.
  const press = (name) => {
    const rising = name === "#" || name === "status" || name === "gates";
    const turns = rising ? [name, `-${name}`, ""] : [`-${name}`, name, ""];
    chosen.sort = turns[(turns.indexOf(chosen.sort) + 1) % turns.length];
    sort();
    remember();
  };

  const keys = section ? all("ul.statuses > li", section) : [];
  const toggles = new Map();
  const draw = (open) => {
    find.value = chosen.find;
    who.value = chosen.who;
    const on = chosen.show.split(",");
    for (const [status, toggle] of toggles) toggle.setAttribute("aria-pressed", String(on.includes(status)));
    filter(open);
  };
  const choose = (change) => {
    Object.assign(chosen, change);
    draw(true);
    remember();
  };

  const readAddress = () => {
    const said = place.get();
    const next = Object.fromEntries(ours.map((name) => [name, said[name] ?? ""]));
    if (!data.competitors.includes(next.who)) next.who = "";
    next.show = next.show.split(",").filter((status) => data.statuses.includes(status)).join(",");
    if (!heads.some((head) => nameOf(head) === next.sort.replace(/^-/, ""))) next.sort = "";
    if (ours.every((name) => next[name] === chosen[name])) return;
    const sorted = next.sort !== chosen.sort;
    Object.assign(chosen, next);
    draw(true);
    if (sorted) sort();
  };

  const openAll = (open) => {
    if (open) for (const row of rows.filter(isShown)) row.table.open = true;
    for (const row of rows) if (isShown(row)) row.details.open = open;
  };

  // Next or previous row that can be seen; from nowhere the first.
  const walk = (step) => {
    const seen = rows.filter((row) => isShown(row) && row.table.open);
    const own = new Map(seen.map((row) => [row.body, row]));
    const inOrder = all("table.attempts > tbody", section).filter((body) => own.has(body));
    const now = inOrder.indexOf(document.activeElement.closest("tbody[id]"));
    const next = inOrder[Math.min(inOrder.length - 1, Math.max(0, now < 0 ? 0 : now + step))];
    if (!next) return;
    own.get(next).details.firstElementChild.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };

  // The attempt that a point of the roll stands for: the nearest row, in it the nearest number.
  const roll = section?.querySelector("figure.roll");
  const aimed = (svg, event) => {
    const [start, end, last] = roll.dataset[svg.matches(".narrow") ? "narrow" : "wide"].split(" ").map(Number);
    const box = svg.getBoundingClientRect();
    const size = svg.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * size, (event.clientY - box.top) * size];
    const lines = all("g:not(.aim)", svg).map((group) => ({ index: Number(group.getAttribute("class").slice(1)), y: group.querySelector(".hair").getBBox().y }));
    const line = lines.reduce((best, other) => (Math.abs(other.y - y) < Math.abs(best.y - y) ? other : best));
    const number = Math.round(1 + ((x - start) / (end - start)) * (last - 1));
    if (Math.abs(line.y - y) > 20 || !racers[line.index].attempts[number - 1]) return null;
    const step = (end - start) / (last - 1);
    return { attempt: `${line.index} ${number}`, x: start + (number - 1) * step, y: line.y, reach: Math.min(44, Math.max(10, step)) };
  };
  for (const svg of roll ? all("svg.chart", roll) : []) {
    svg.addEventListener("pointermove", (event) => {
      const aim = aimed(svg, event);
      const old = svg.querySelector(".aim");
      if (old && aim?.attempt === old.dataset.attempt) return;
      old?.remove();
      if (!aim) return;
      const group = pen("g", { class: "aim" });
      const box = (width) => pen("rect", { x: aim.x - width / 2, y: aim.y - 20, width, height: 36 });
      group.dataset.attempt = aim.attempt;
      group.append(box(10), box(aim.reach));
      svg.append(group);
    });
    svg.addEventListener("pointerleave", () => svg.querySelector(".aim")?.remove());
  }

  if (rows.length) {
    for (const name of data.competitors) who.append(make("option", { value: name }, name));
    const tools = [find, ...(tables.length > 1 ? [who] : []), button("open all", () => openAll(true)), button("close all", () => openAll(false)), count];
    const hint = make("span", { class: "hint" }, make("kbd", {}, "j"), " ", make("kbd", {}, "k"), " next, previous");
    tables[0].before(make("div", { class: "find", role: "group", "aria-label": "filter the attempts" }, ...tools, hint));
    find.addEventListener("input", () => choose({ find: find.value }));
    who.addEventListener("input", () => choose({ who: who.value }));

    for (const key of keys) {
      const status = key.textContent.trim().split(" ").at(-1);
      const toggle = make("button", { type: "button", "aria-pressed": "false" }, ...key.childNodes);
      toggle.addEventListener("click", () => {
        const on = new Set(chosen.show ? chosen.show.split(",") : []);
        if (!on.delete(status)) on.add(status);
        choose({ show: data.statuses.filter((known) => on.has(known)).join(",") });
      });
      toggles.set(status, toggle);
      key.append(toggle);
    }
    for (const head of heads) {
      const toggle = make("button", { type: "button", class: "sort" }, nameOf(head));
      toggle.addEventListener("click", () => press(nameOf(head)));
      head.replaceChildren(toggle);
    }
    for (const { body } of rows) body.tabIndex = -1;

    // Who opens an attempt has its address.
    section.addEventListener("click", (event) => {
      const row = event.target.closest("table.attempts summary") && rows.find(({ details }) => details === event.target.closest("details"));
      if (!row || row.details.open) return;
      place.set({ ...place.get(), competitor: racers[row.index].name, attempt: row.number });
      place.mark(row.index, row.number);
    });
    document.addEventListener("keydown", (event) => {
      const step = { j: 1, k: -1 }[event.key];
      const busy = event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, select, textarea");
      if (!step || busy || !section.contains(event.target)) return;
      event.preventDefault();
      walk(step);
    });

    reveals.push((index, number) => {
      const row = rows.find((other) => other.index === index && other.number === number);
      if (row && !isShown(row)) {
        Object.assign(chosen, { who: "", show: "", find: "" });
        draw(false);
      }
      remember();
    });
    keepers.push({
      name: "attempts",
      get: () => ({ ...chosen }),
      set(value) {
        Object.assign(chosen, value);
        draw(false);
        sort();
      },
    });
    readAddress();
    addEventListener("hashchange", readAddress);
  }
}
