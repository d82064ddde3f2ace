// Marks in the list of sections where the reader is.

export function follow_sections() {
  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("header.page nav a[href^='#']"));
  /** @type {{link: HTMLAnchorElement, target: HTMLElement}[]} */
  const places = [];
  for (const link of links) {
    if (link.parentElement?.querySelector("ul")) continue; // a whole report
    const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (target) places.push({ link, target });
  }
  if (!places.length) return;
  /** @type {HTMLAnchorElement | undefined} */
  let current;
  let asked = 0;

  function update() {
    asked = 0;
    const line = window.innerHeight / 3;
    let at = places[0];
    if (window.scrollY > 0)
      for (const place of places) if (place.target.getBoundingClientRect().top <= line) at = place;
    if (window.scrollY > 0 && window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2)
      at = places[places.length - 1];
    if (at.link === current) return;
    current?.removeAttribute("aria-current");
    current = at.link;
    current.setAttribute("aria-current", "true");
  }

  const ask = () => {
    if (!asked) asked = requestAnimationFrame(update);
  };
  addEventListener("scroll", ask, { passive: true });
  addEventListener("resize", ask, { passive: true });
  update();
}
