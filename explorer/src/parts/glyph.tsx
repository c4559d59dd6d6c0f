// Small signs, drawn in the colour of the text beside them.

const PATHS = {
  alert: "M12 3.5 21.5 20h-19zM12 10v4.5M12 17v.5",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  dark: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  done: "M5 12.5l4.5 4.5L19 7.5",
  download: "M12 4v11M7 10.5l5 5 5-5M5 20h14",
  filter: "M4 5h16l-6 7.5V19l-4-2v-4.5z",
  follow: "M4 12h15M13 6l6 6-6 6",
  help: "M9 9a3 3 0 1 1 4 2.8c-.7.3-1 .8-1 1.7M12 17v.5M12 21.5a9.5 9.5 0 1 0 0-19 9.5 9.5 0 0 0 0 19z",
  key: "M14.5 14a5 5 0 1 0-4.4-2.6L3 18.5V21h3v-2h2v-2h2l1.6-1.6M15 9h.01",
  light: "M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M4.9 4.9l1.8 1.8M17.3 17.3l1.8 1.8M4.9 19.1l1.8-1.8M17.3 6.7l1.8-1.8",
  open: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L21 21",
  switch: "M4 8h14M14 4l4 4-4 4M20 16H6M10 12l-4 4 4 4",
  unfold: "M7 10l5 5 5-5",
  system: "M3 4.5h18v12H3zM9 20.5h6M12 16.5v4",
} as const;

export type GlyphName = keyof typeof PATHS;

export function Glyph({ name }: { name: GlyphName }) {
  return (
    <svg class="glyph" aria-hidden="true" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">
      <path d={PATHS[name]} />
    </svg>
  );
}
