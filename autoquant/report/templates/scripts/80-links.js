// An address with a competitor and an attempt opens, shows and marks its row.

{
  const notice = make("p", { class: "note notice", role: "status" });

  const reach = (element) => {
    for (let outer = element.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
    element.scrollIntoView({ block: "center" });
  };

  place.mark = (index, number) => {
    all(".here").forEach((element) => element.classList.remove("here"));
    const row = document.getElementById(`attempt-${index}-${number}`);
    row?.classList.add("here");
    return row;
  };

  place.show = (index, number) => {
    for (const reveal of reveals) reveal(index, number);
    const row = place.mark(index, number);
    notice.remove();
    if (!row) {
      notice.textContent = `Attempt ${number} of ${data.competitors[index]} is not in the tables of this page.`;
      document.getElementById("attempts")?.after(notice);
      return notice.scrollIntoView({ block: "center" });
    }
    for (const details of all("details", row).slice(0, 1)) details.open = true;
    reach(row);
    row.tabIndex = -1;
    row.focus({ preventScroll: true });
  };

  place.follow = () => {
    const { competitor, attempt } = place.get();
    const index = data.competitors.indexOf(competitor);
    if (index < 0) return;
    if (/^[1-9]\d*$/.test(attempt ?? "")) return place.show(index, Number(attempt));
    const first = document.querySelector(`[id^="attempt-${index}-"]`);
    if (first) reach(first.closest("details") ?? first);
  };

  addEventListener("hashchange", place.follow);
}
