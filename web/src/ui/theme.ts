/** The theme of an embedded page, as specified by the embedding application. */
export interface Theme { primaryColor: string | null; borderRadius: string | null }

/** Sets the page's accent color. */
export function paint(primaryColor: string | null | undefined): void {
  const root = document.documentElement;
  const colour = /^#([0-9a-f]{6}|[0-9a-f]{3})$/i.exec(primaryColor ?? "")?.[1];
  if (!colour) return;
  const full = colour.length === 3 ? [...colour].map((c) => c + c).join("") : colour;
  const light = luminance(full);
  root.style.setProperty("--accent-fill", `#${full}`);
  root.style.setProperty("--on-accent-fill", light > 0.179 ? "#10181d" : "#ffffff");
  // As a text color, the accent color needs sufficient contrast with every background of the page. It is therefore
  // mixed with black or white.
  root.style.setProperty("--accent-text-light", `color-mix(in srgb, #${full} ${light < 0.15 ? 100 : 40}%, black)`);
  root.style.setProperty("--accent-text-dark", `color-mix(in srgb, #${full} ${light > 0.35 ? 100 : 35}%, white)`);
  root.classList.add("themed");
}

/** Applies the embedding application's color and corner radius to the page. */
export function paintTheme(theme: Theme | null): void {
  paint(theme?.primaryColor);
  const radius = /^(\d{1,2}(?:\.\d+)?)(px|rem|em)?$/.exec(theme?.borderRadius ?? "");
  if (radius) document.documentElement.style.setProperty("--radius", `${radius[1]}${radius[2] ?? "px"}`);
}

/** Returns the relative luminance (WCAG 2.2) of a color of six hexadecimal digits. */
function luminance(hex: string): number {
  const [r, g, b] = [0, 2, 4].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
