// Links to where strangers say.

import type { ComponentChildren } from "preact";

/** A link that a stranger wrote: to the web or to a mailbox, or else its text alone. */
export function WebLink({ href, children }: { href: string; children: ComponentChildren }) {
  const url = safeUrl(href);
  if (!url) return <>{children}</>;
  return (
    <a href={url} rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** The URL where it is one that a page may link to; nothing of another scheme, and nothing relative to this page. */
function safeUrl(href: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  const url = new URL(href);
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
}
