// What a reader takes along: the attempts as CSV and JSON, each chart as an SVG file, a command to the clipboard.

{
  const fileName = (...parts) => ["autoquant", data.race, data.stamp, ...parts].filter(Boolean).join("-").replace(/[^\w.-]+/g, "-");

  const COLUMNS = [
    "competitor", "attempt", "utc", "status", "score", "delta", "folds_better", "score_double_cost", "score_one_bar_later",
    "drawdown", "turnover", "trades", "tokens", "cost_usd", "agent_seconds", "parent", "lineage", "strategy", "commit",
    "description",
  ];

  const records = () =>
    racers.flatMap((racer) =>
      racer.attempts.map((attempt) => {
        const own = {
          competitor: racer.name,
          attempt: attempt.number,
          utc: attempt.utc === null ? null : new Date(attempt.utc * 1000).toISOString().replace(".000", ""),
          status: attempt.status,
        };
        return Object.fromEntries(COLUMNS.map((column) => [column, own[column] ?? told(racer, attempt, column)]));
      }),
    );

  const PLAIN = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/;

  // One cell by RFC 4180; what a spreadsheet would take for a formula gets an apostrophe before it.
  const cell = (value) => {
    const words = value === null ? "" : String(value);
    const inert = /^[=+\-@\t\r]/.test(words) && !PLAIN.test(words) ? `'${words}` : words;
    return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
  };

  const csv = (rows, columns) => [columns, ...rows.map((row) => columns.map((name) => row[name]))].map((row) => row.map(cell).join(",") + "\r\n").join("");

  const used = (rows) => COLUMNS.filter((column) => rows.some((row) => row[column] !== null));

  const USUAL = { "stroke-width": "1px", "stroke-dasharray": "none", "stroke-linecap": "butt", "stroke-linejoin": "miter", opacity: "1", "paint-order": "normal", "letter-spacing": "normal", "text-anchor": "start" };
  const PAINT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "paint-order"];
  const TYPE = ["font-family", "font-size", "font-weight", "letter-spacing", "text-anchor"];

  // A drawing that needs no style sheet: what the page's gives each element stands in the element.
  const standalone = (svg) => {
    const copy = svg.cloneNode(true);
    const [from, to] = [all("*", svg), all("*", copy)];
    from.forEach((element, place) => {
      const style = getComputedStyle(element);
      if (style.display === "none") to[place].dataset.gone = "";
      const names = { text: [...PAINT, ...TYPE], tspan: ["fill", "font-weight"], title: [], svg: [], g: ["opacity"] }[element.localName] ?? PAINT;
      for (const name of names) {
        const value = style.getPropertyValue(name);
        if (value !== USUAL[name]) to[place].setAttribute(name, value);
      }
    });
    for (const element of all("[data-gone], .ring", copy)) element.remove();
    const { width, height } = svg.viewBox.baseVal;
    const paper = pen("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor });
    const title = pen("title");
    title.textContent = `${svg.getAttribute("aria-label") ?? "chart"} · AutoQuant, ${data.race}`;
    copy.prepend(title, paper);
    for (const element of [copy, ...all("*", copy)])
      for (const { name } of [...element.attributes]) if (/^(class|tabindex|style|data-.*)$/.test(name)) element.removeAttribute(name);
    for (const [name, value] of Object.entries({ width, height })) copy.setAttribute(name, value);
    return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
  };

  const tool = (words, act, label) => {
    const button = make("button", { type: "button", class: "tool", ...(label && { "aria-label": label }) }, words);
    button.addEventListener("click", () => act(button));
    return button;
  };

  const area = (svg) => {
    const { width, height } = svg.getBoundingClientRect();
    return width * height;
  };

  all("main figure").forEach((figure) => {
    const drawings = all("svg", figure).filter((svg) => !svg.parentElement.closest("svg") && svg.getAttribute("role") === "img");
    if (!drawings.some((svg) => svg.viewBox.baseVal.height > 60)) return;
    const section = figure.closest("section")?.getAttribute("aria-labelledby") ?? "figure";
    const save = () => {
      const shown = drawings.reduce((best, svg) => (area(svg) > area(best) ? svg : best));
      const own = all("figure", figure.closest("section") ?? document);
      const parts = [section, shown.dataset.axis && shown.matches(".chart") ? shown.dataset.axis : own.indexOf(figure) + 1];
      offer(fileName(...parts) + ".svg", standalone(shown), "image/svg+xml");
    };
    figure.append(tool("save as SVG", save, `save as SVG: ${drawings[0].getAttribute("aria-label") ?? "chart"}`));
  });

  const copied = async (words) => {
    try {
      await navigator.clipboard.writeText(words);
      return true;
    } catch {
      const area = make("textarea", { class: "unseen", "aria-hidden": "true" });
      area.value = words;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };

  all("pre.copy, code.copy").forEach((source) => {
    const act = async (button) => {
      button.textContent = (await copied(source.textContent.trimEnd())) ? "copied" : "not copied";
      say(button.textContent);
      setTimeout(() => (button.textContent = "copy"), 2_000);
    };
    const button = tool("copy", act);
    button.classList.add("copier");
    if (source.localName === "pre") source.before(button);
    else source.after(button);
  });

  const lists = tool("attempts.csv", () => {
    const rows = records();
    offer(fileName("attempts.csv"), csv(rows, used(rows)), "text/csv;charset=utf-8");
  });
  const objects = tool("attempts.json", () => {
    const text = JSON.stringify({ race: data.race, source: data.source, warning: data.warning, attempts: records() }, null, 1);
    offer(fileName("attempts.json"), text + "\n", "application/json");
  });
  const note = data.lean
    ? "Of so many attempts only what the charts need, scores to five decimals; everything stands in the ledger."
    : "Every attempt, scores to seven decimals, strategies by sixteen digits; missing is empty in CSV and null in JSON.";
  if (racers.some((racer) => racer.attempts.length)) {
    const home = document.getElementById("downloads") ?? document.querySelector('section[aria-labelledby="provenance"]');
    if (home?.localName === "section") home.append(make("h3", {}, "Downloads"));
    home?.append(make("p", { class: "offers" }, lists, objects, make("span", { class: "note" }, note)));
  }
}
