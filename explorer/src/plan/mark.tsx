// A verdict as a badge: by its word and its sign, so that it needs no colour.

import { Glyph, type GlyphName } from "../parts/glyph";

export interface MarkStyle {
  label: string;
  glyph: GlyphName;
  tone: "success" | "info" | "warning" | "danger" | "plain";
}

export function Mark({ of: { label, glyph, tone } }: { of: MarkStyle }) {
  return (
    <span class={`badge mark ${tone}`}>
      <Glyph name={glyph} />
      {label}
    </span>
  );
}
