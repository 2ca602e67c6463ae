// What all parts of the script share. The page is whole without it: it only adds.

const data = JSON.parse(document.getElementById("data").textContent);

const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// The address names the place: #competitor=NAME&attempt=17
const place = {
  get() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  },
  set(words) {
    const kept = new URLSearchParams(Object.entries(words).filter(([, value]) => value !== null && value !== ""));
    history.replaceState(null, "", kept.size ? `#${kept}` : location.pathname + location.search);
  },
};

// Elements that only the script can serve are made by it, never by the page.
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

const offer = (name, content, type) => {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};
