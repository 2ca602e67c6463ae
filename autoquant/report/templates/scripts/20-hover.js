// The attempt under the pointer or the keys. A chart opts in by data-axis and its scales, data-x and data-y, each as
// "low high start end"; data-of names the competitors in it by index where it does not hold all. Any other element opts
// in by data-attempt, "index number".

const charts = [];
let unpoint;

{
  const scale = (words) => {
    const [low, high, start, end] = words.split(" ").map(Number);
    const to = (value) => start + Math.min(1, Math.max(0, high === low ? 0.5 : (value - low) / (high - low))) * (end - start);
    return Object.assign(to, { low, high, start, end });
  };

  charts.push(...all("svg[data-axis]").map((svg) => ({
    svg,
    axis: svg.dataset.axis,
    x: scale(svg.dataset.x),
    y: scale(svg.dataset.y),
    racers: (svg.dataset.of?.split(" ").map((index) => racers[index]) ?? racers).filter(({ ends }) => svg.dataset.axis in ends),
  })));

  const marksOf = (chart) => {
    chart.marks ??= chart.racers.flatMap((racer) => {
      const places = placesOn(racer, chart.axis);
      return racer.attempts
        .filter((attempt) => places[attempt.row] !== null && attempt.status !== "open")
        .map((attempt) => {
          const score = told(racer, attempt, "score");
          const y = score === null ? chart.y.start + 3 : chart.y(score);
          return { racer, attempt, score, x: chart.x(places[attempt.row]), y };
        });
    });
    const edge = chart.x.start + moment.share * (chart.x.end - chart.x.start);
    return moment.share < 1 ? chart.marks.filter((mark) => mark.x <= edge) : chart.marks;
  };

  const REACH = 30;
  const tip = make("div", { class: "tip", hidden: "" });
  const ring = pen("circle", { class: "ring", r: 6.5 });
  document.body.append(tip);
  let pointed = null;

  const about = ({ racer, attempt, score }) => {
    const delta = told(racer, attempt, "delta");
    const numbers = [attempt.status];
    if (score !== null) numbers.push(`score ${write.fixed(score)}`);
    if (delta !== null) numbers.push(`Δ ${write.fixed(delta, 3, true)}`);
    return { title: `${racer.name} #${attempt.number}`, numbers: numbers.join(" · "), words: told(racer, attempt, "description") ?? "" };
  };

  unpoint = () => {
    pointed = null;
    tip.hidden = true;
    ring.remove();
  };

  const tell = (mark, at) => {
    const { title, numbers, words } = about(mark);
    tip.replaceChildren(make("strong", {}, make("bdi", {}, title)), make("span", {}, numbers));
    if (words) tip.append(make("bdi", {}, words));
    tip.hidden = false;
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    const left = at.right + 8 + width > document.documentElement.clientWidth ? at.left - 8 - width : at.right + 8;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${at.top - 8 - height < 8 ? at.bottom + 8 : at.top - 8 - height}px`;
  };

  const point = (chart, mark) => {
    if (pointed?.mark === mark) return;
    pointed = { chart, mark };
    ring.setAttribute("class", `ring a${mark.racer.index}`);
    ring.setAttribute("cx", mark.x);
    ring.setAttribute("cy", mark.y);
    chart.svg.append(ring);
    tell(mark, ring.getBoundingClientRect());
  };

  const nearest = (chart, event) => {
    const box = chart.svg.getBoundingClientRect();
    const size = chart.svg.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * size, (event.clientY - box.top) * size];
    let [best, found] = [REACH * REACH, null];
    for (const mark of marksOf(chart)) {
      const far = (mark.x - x) ** 2 + (mark.y - y) ** 2;
      if (far < best) [best, found] = [far, mark];
    }
    return found;
  };

  // Left and right go along one competitor's attempts, up and down to the next competitor, Enter to the attempt's row.
  const walk = (chart, key) => {
    const marks = marksOf(chart);
    const now = pointed?.chart === chart ? pointed.mark : null;
    const racer = now?.racer ?? marks.at(-1)?.racer;
    const own = marks.filter((mark) => mark.racer === racer);
    if (!own.length) return null;
    const here = now ? own.indexOf(now) : own.length;
    const step = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: own.length - 1 }[key];
    if (step !== undefined) return own[Math.min(own.length - 1, Math.max(0, step))];
    const others = chart.racers.filter((other) => marks.some((mark) => mark.racer === other));
    const next = others[(others.indexOf(racer) + (key === "ArrowDown" ? 1 : others.length - 1)) % others.length];
    const near = (mark) => Math.abs(mark.x - (now ?? own.at(-1)).x);
    return marks.filter((mark) => mark.racer === next).reduce((best, mark) => (near(mark) < near(best) ? mark : best));
  };

  // Go to an attempt's row and name it in the address.
  const visit = ({ racer, attempt }) => {
    place.set({ competitor: racer.name, attempt: attempt.number });
    place.show(racer.index, attempt.number);
  };

  const KEYS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);

  for (const chart of charts) {
    const { svg } = chart;
    const over = (event) => {
      const mark = nearest(chart, event);
      if (mark) point(chart, mark);
      else unpoint();
    };
    svg.addEventListener("pointermove", over);
    svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && unpoint());
    svg.addEventListener("click", (event) => {
      const known = pointed?.mark;
      over(event);
      // A finger has no hover: its first touch shows, its second goes.
      if (pointed && (event.pointerType !== "touch" || pointed.mark === known)) visit(pointed.mark);
    });
    svg.tabIndex = 0;
    svg.addEventListener("blur", unpoint);
    svg.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "Escape") unpoint();
      if (event.key === "Enter" && pointed?.chart === chart) visit(pointed.mark);
      if (!KEYS.has(event.key)) return;
      event.preventDefault();
      const mark = walk(chart, event.key);
      if (!mark) return;
      point(chart, mark);
      say(Object.values(about(mark)).join(", "));
    });
  }

  addEventListener("scroll", () => pointed && !pointed.chart.svg.matches(":focus-visible") && unpoint(), { passive: true });

  const named = (element) => {
    const [index, number] = element.dataset.attempt.split(" ").map(Number);
    const [racer, attempt] = [racers[index], racers[index]?.attempts[number - 1]];
    return attempt && { racer, attempt, score: told(racer, attempt, "score") };
  };

  const goals = (event) => event.target.closest?.("[data-attempt]");

  for (const kind of ["pointerover", "focusin"])
    document.addEventListener(kind, (event) => {
      const mark = goals(event) && named(goals(event));
      if (mark) tell(mark, goals(event).getBoundingClientRect());
    });
  for (const kind of ["pointerout", "focusout"]) document.addEventListener(kind, (event) => goals(event) && unpoint());
  document.addEventListener("click", (event) => {
    const mark = goals(event) && named(goals(event));
    if (mark) visit(mark);
  });
}
