// The race again in thirty seconds, in the same charts: what lies right of the moment is cut off, labels follow the lines.

{
  const SECONDS = 30;
  const STEP = 0.25;
  const LABEL_GAP = 17;
  const TELL_EVERY = 4_000;

  // Places close to the wanted ones, in their order, a gap apart; as figures.spread does it.
  const spread = (wanted, most, low, high) => {
    const gap = wanted.length > 1 ? Math.min(most, (high - low) / (wanted.length - 1)) : most;
    const order = wanted.map((_, place) => place).sort((a, b) => wanted[a] - wanted[b] || a - b);
    const pools = [];
    for (const place of order) {
      pools.push([wanted[place], 1]);
      for (;;) {
        const last = pools.at(-1);
        const half = (gap * (last[1] - 1)) / 2;
        last[0] = Math.min(Math.max(last[0], low + half), high - half);
        const before = pools.at(-2);
        if (!before || last[0] - before[0] >= (gap * (last[1] + before[1])) / 2 - 1e-9) break;
        const size = before[1] + last[1];
        pools.splice(-2, 2, [(before[0] * before[1] + last[0] * last[1]) / size, size]);
      }
    }
    const places = pools.flatMap(([centre, size]) => Array.from({ length: size }, (_, i) => centre + gap * (i - (size - 1) / 2)));
    const found = [];
    order.forEach((place, rank) => (found[place] = places[rank]));
    return found;
  };

  // The official line on an axis: from which place on which score stood.
  const climb = (racer, axis) => {
    const places = placesOn(racer, axis);
    const later = (row) => places.slice(row).find((at) => at !== null) ?? racer.ends[axis];
    const kept = racer.attempts.filter((attempt) => attempt.status === "keep" && told(racer, attempt, "score") !== null);
    return [{ at: 0, score: data.seed }, ...kept.map((attempt) => ({ at: later(attempt.row), score: told(racer, attempt, "score") }))];
  };

  const stage = document.querySelector("figure.race");
  const films = charts
    .filter((chart) => stage?.contains(chart.svg))
    .map((chart) => {
      const film = chart.svg.querySelector(".film");
      const flags = all(".flag", chart.svg).map((flag) => {
        const [leader, tag, score] = [".leader", ".tag", "tspan"].map((part) => flag.querySelector(part));
        const home = { leader: leader.getAttribute("d"), score: score.textContent, y: Number(tag.querySelector("text").getAttribute("y")) - 4 };
        const racer = racers[flag.dataset.c];
        return { racer, leader, tag, score, home, steps: climb(racer, chart.axis), end: racer.ends[chart.axis] };
      });
      const [gap, digits] = chart.svg.matches(".narrow") ? [4, 2] : [10, 3];
      return { ...chart, film, flags, gap, digits, full: film.getAttribute("width") };
    });

  const standing = (steps, at) => steps.findLast((step) => step.at <= at)?.score ?? data.seed;

  const finish = ({ film, flags, full }) => {
    film.setAttribute("width", full);
    for (const { leader, tag, score, home } of flags) {
      leader.setAttribute("d", home.leader);
      tag.removeAttribute("transform");
      score.textContent = home.score;
    }
  };

  const roll = (film) => {
    if (moment.share >= 1) return finish(film);
    const { x, y, flags, gap, digits } = film;
    const now = moment.share * x.high;
    const edge = x(now);
    film.film.setAttribute("width", edge.toFixed(1));
    const scores = flags.map(({ steps }) => standing(steps, now));
    const places = spread(scores.map(y), LABEL_GAP, 20, y.start);
    flags.forEach(({ leader, tag, score, home, end }, rank) => {
      const [level, place] = [y(scores[rank]), places[rank]];
      leader.setAttribute("d", `M${(x(Math.min(now, end)) + 3).toFixed(1)} ${level.toFixed(1)}L${(edge + gap).toFixed(1)} ${place.toFixed(1)}`);
      tag.setAttribute("transform", `translate(${(edge - x.end).toFixed(1)} ${(place - home.y).toFixed(1)})`);
      score.textContent = write.fixed(scores[rank], digits);
    });
  };

  // The line under the controls: the moment, and who leads at it.
  const news = ({ x, axis, flags }) => {
    const now = moment.share * x.high;
    const ranks = flags
      .map(({ racer, steps }) => ({ racer, score: standing(steps, now) }))
      .sort((a, b) => b.score - a.score || a.racer.index - b.racer.index);
    const named = ranks.slice(0, 3).map(({ racer, score }, rank) => `${rank + 1} ${racer.name} ${write.fixed(score)}`);
    return `${write[axis](now)}: ${named.join(" · ")}`;
  };

  if (films.some((film) => film.flags.length && film.racers.some((racer) => racer.attempts.length))) {
    const play = make("button", { type: "button", class: "play" });
    const scrub = make("input", { type: "range", min: 0, max: SECONDS, step: STEP, id: "replay", "aria-label": "Moment of the race" });
    const line = make("p", { class: "standing", "aria-hidden": "true" });
    const bar = make("div", { class: "replay", role: "group", "aria-label": "Replay" }, play, scrub, line);
    const bounds = { then: 0, told: 0 };

    const visible = () => films.filter(({ svg }) => svg.getClientRects().length);

    const show = () => {
      unpoint();
      const shown = visible();
      shown.forEach(roll);
      const words = shown.length && moment.share < 1 ? news(shown[0]) : "";
      if (line.textContent !== words) line.textContent = words;
      scrub.value = moment.share * SECONDS;
      scrub.setAttribute("aria-valuetext", shown.length ? write[shown[0].axis](moment.share * shown[0].x.high) : "");
      return words;
    };

    const name = () => {
      play.textContent = moment.playing ? "❚❚ pause" : "▶ replay in 30 s";
      play.hidden = calm.matches;
      scrub.step = calm.matches ? 1 : STEP;
    };

    const pause = () => {
      moment.playing = false;
      name();
      say(show() || "the race is over");
    };

    const frame = (time) => {
      if (!moment.playing) return;
      // A tab in the background gets no frames: the race waits for it.
      moment.share += Math.min(100, time - bounds.then) / (1000 * SECONDS);
      bounds.then = time;
      if (moment.share >= 1) {
        moment.share = 1;
        return pause();
      }
      const words = show();
      if (time - bounds.told > TELL_EVERY) {
        bounds.told = time;
        say(words);
      }
      requestAnimationFrame(frame);
    };

    const start = () => {
      if (calm.matches) return;
      if (moment.share >= 1) moment.share = 0;
      moment.playing = true;
      bounds.then = bounds.told = performance.now();
      name();
      requestAnimationFrame(frame);
    };

    const seek = (seconds) => {
      moment.playing = false;
      moment.share = Math.min(1, Math.max(0, seconds / SECONDS));
      name();
      show();
      clearTimeout(bounds.wait);
      bounds.wait = setTimeout(() => say(line.textContent || "the race is over"), 600);
    };

    play.addEventListener("click", () => (moment.playing ? pause() : start()));
    scrub.addEventListener("input", () => seek(scrub.valueAsNumber));
    stage.addEventListener("keydown", (event) => {
      const { target, key } = event;
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const seconds = moment.share * SECONDS;
      const step = calm.matches ? 1 : STEP;
      const goal = { ArrowLeft: seconds - step, ArrowRight: seconds + step, Home: 0, End: SECONDS }[key];
      if (key === " " && target.matches("#replay, svg")) {
        event.preventDefault();
        if (moment.playing) pause();
        else start();
      } else if (goal !== undefined && target === play) {
        event.preventDefault();
        seek(goal);
      }
    });
    stage.addEventListener("change", (event) => {
      if (event.target.name !== "axis") return;
      films.forEach((film) => visible().includes(film) || finish(film));
      show();
    });
    let wide = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth !== wide) show();
      wide = innerWidth;
    });
    addEventListener("beforeprint", () => films.forEach(finish));
    addEventListener("afterprint", show);
    calm.addEventListener("change", () => (moment.playing && calm.matches ? pause() : name()));
    stage.querySelector(".controls").append(bar);
    name();
    show();
  }
}
