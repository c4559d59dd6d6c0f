// The icon of a package on a white plate, or its first letter.

import { useEffect, useState } from "preact/hooks";

import { authorization, token } from "../client";
import { useStore } from "../store";

export interface IconProps {
  icon: { url: string } | null | undefined;
  /** Display name, for the letter. */
  name: string;
  /** Width and height in pixels. */
  size?: 24 | 40 | 64;
}

export function Icon({ icon, name, size = 40 }: IconProps) {
  const url = useImage(icon?.url.replace(/^\/+/, ""));
  const [broken, setBroken] = useState<string>();
  const isShown = url && url !== broken;
  return (
    <span class={`icon size-${size}`} aria-hidden="true">
      {isShown ? <img src={url} alt="" width={size} height={size} loading="lazy" decoding="async" onError={() => setBroken(url)} /> : letter(name)}
    </span>
  );
}

function letter(name: string): string {
  const [first = "?"] = name.match(/[\p{L}\p{N}]/u) ?? [];
  return first.toUpperCase();
}

/** The URL of an image. Where requests carry a token, images are fetched with it. */
function useImage(url: string | undefined): string | undefined {
  const hasToken = useStore(token) !== undefined;
  const [blob, setBlob] = useState<{ of: string; url: string }>();
  useEffect(() => {
    if (!hasToken || !url) return undefined;
    const abort = new AbortController();
    let made: string | undefined;
    fetch(url, { headers: authorization(), signal: abort.signal })
      .then((response) => (response.ok ? response.blob() : undefined))
      .then((image) => {
        if (!image || abort.signal.aborted) return;
        made = URL.createObjectURL(image);
        setBlob({ of: url, url: made });
      })
      // Without its image a package has its letter.
      .catch(() => undefined);
    return () => {
      abort.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [url, hasToken]);
  if (!hasToken) return url;
  return blob?.of === url ? blob?.url : undefined;
}
