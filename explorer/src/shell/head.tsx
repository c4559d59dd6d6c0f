// The head of every page.

import { type Address, EVERYTHING, Link, parseAddress, useAddress } from "../address";
import { hasPlayground, token } from "../client";
import { cluster, platformInput } from "../cluster/cluster";
import { ClusterButton } from "../cluster/cluster-button";
import { Glyph, type GlyphName } from "../parts/glyph";
import { CATALOGS, MAIN_PLACES, PACKAGES, type Place, PLAYGROUND, RESOLVE, SITE, UPGRADE } from "../shared/places";
import { useStore } from "../store";
import { helpIsOpen } from "./help";
import { THEMES, theme } from "./theme";

/** Where one is on each page. */
const PLACE: Record<Address["page"], Place> = {
  list: PACKAGES,
  package: PACKAGES,
  version: PACKAGES,
  compare: PACKAGES,
  api: PACKAGES,
  catalogs: CATALOGS,
  catalog: CATALOGS,
  diff: CATALOGS,
  resolve: RESOLVE,
  "upgrade-plan": UPGRADE,
  matrix: UPGRADE,
  mirror: CATALOGS,
};

export function Head() {
  const { page } = useAddress();
  const current = useStore(cluster);
  const toPlace = (place: Place): Address => {
    const address = parseAddress(place.search);
    if (address.page !== "resolve") return address;
    return { ...address, ...(platformInput(current) as object), ...(current.olm === "v0" && { olm: "v0" }) };
  };
  return (
    <header class="head">
      <Link class="name" to={EVERYTHING}>
        <Mark />
        {SITE}
      </Link>
      <nav aria-label="Main">
        {MAIN_PLACES.map((place) => (
          <Link key={place.label} to={toPlace(place)} aria-current={PLACE[page] === place ? "page" : undefined}>
            {place.label}
          </Link>
        ))}
        {useStore(hasPlayground) && <a href="playground/">{PLAYGROUND}</a>}
      </nav>
      <ClusterButton />
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
