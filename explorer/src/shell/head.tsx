// The head of every page.

import { type Address, EVERYTHING, Link, useAddress } from "../address";
import { hasPlayground, token } from "../client";
import { Glyph, type GlyphName } from "../parts/glyph";
import { useStore } from "../store";
import { helpIsOpen } from "./help";
import { THEMES, theme } from "./theme";

interface Place {
  label: string;
  to: Address;
  pages: readonly Address["page"][];
}

const PLACES: readonly Place[] = [
  { label: "Packages", to: EVERYTHING, pages: ["list", "package", "version", "compare", "api"] },
  { label: "Catalogs", to: { page: "catalogs" }, pages: ["catalogs", "catalog", "diff"] },
  { label: "Resolve", to: { page: "resolve", channel: [], in: [] }, pages: ["resolve"] },
];

export function Head() {
  const { page } = useAddress();
  return (
    <header class="head">
      <Link class="name" to={EVERYTHING}>
        <Mark />
        Operator catalogs
      </Link>
      <nav aria-label="Main">
        {PLACES.map(({ label, to, pages }) => (
          <Link key={label} to={to} aria-current={pages.includes(page) ? "page" : undefined}>
            {label}
          </Link>
        ))}
        {useStore(hasPlayground) && <a href="playground/">Playground</a>}
      </nav>
      <ForgetToken />
      <ThemeSwitch />
      <button type="button" class="plain" aria-label="Help" title="Help (?)" onClick={() => helpIsOpen.set(true)}>
        <Glyph name="help" />
      </button>
    </header>
  );
}

/** Forgets the token that was given, where one was. */
function ForgetToken() {
  if (useStore(token) === undefined) return null;
  return (
    <button type="button" class="plain" aria-label="Forget the token" title="Forget the token" onClick={() => token.set(undefined)}>
      <Glyph name="key" />
    </button>
  );
}

function ThemeSwitch() {
  const current = useStore(theme);
  const next = THEMES[(THEMES.indexOf(current) + 1) % THEMES.length] ?? "system";
  const glyph: GlyphName = current;
  return (
    <button type="button" class="plain" aria-label={`Theme: ${current}`} title={`Theme: ${current}`} onClick={() => theme.set(next)}>
      <Glyph name={glyph} />
    </button>
  );
}

function Mark() {
  return (
    <svg aria-hidden="true" viewBox="0 0 32 32">
      <rect width="32" height="32" rx="7" fill="#5b3fd6" />
      <g fill="#fff">
        <rect x="6" y="6" width="9" height="9" rx="2" />
        <rect x="17" y="6" width="9" height="9" rx="2" opacity=".55" />
        <rect x="6" y="17" width="9" height="9" rx="2" opacity=".55" />
        <rect x="17" y="17" width="9" height="9" rx="2" />
      </g>
    </svg>
  );
}
