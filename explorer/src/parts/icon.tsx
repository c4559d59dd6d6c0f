// The icon of a package on a white plate, or its first letter.

import { useEffect, useState } from "preact/hooks";

import { authorization, token } from "../client";
import { useStore } from "../store";

export interface IconProps {
  icon: { url: string } | null | undefined;
  /** Display name, for the letter. */
  name: string;
  /** Width and height in pixels. */
  size?: 40 | 64;
}

export function Icon({ icon, name, size = 40 }: IconProps) {
  const url = icon?.url;
  const hasToken = useStore(token) !== undefined;
  return (
    <span class={`icon size-${size}`} aria-hidden="true">
      {!url ? letter(name) : hasToken ? <Fetched url={url} name={name} size={size} /> : <Image url={url} name={name} size={size} />}
    </span>
  );
}

interface ImageProps {
  url: string;
  name: string;
  size: number;
}

function Image({ url, name, size }: ImageProps) {
  const [broken, setBroken] = useState<string>();
  if (url === broken) return <>{letter(name)}</>;
  return <img src={url} alt="" width={size} height={size} loading="lazy" decoding="async" onError={() => setBroken(url)} />;
}

/** An image that is fetched with the token that requests carry. Without it, or until it is there, a package has its letter. */
function Fetched({ url, name, size }: ImageProps) {
  const [blob, setBlob] = useState<{ of: string; url: string }>();
  useEffect(() => {
    const abort = new AbortController();
    let made: string | undefined;
    fetch(url, { headers: authorization(), signal: abort.signal })
      .then((response) => (response.ok ? response.blob() : undefined))
      .then((image) => {
        if (!image || abort.signal.aborted) return;
        made = URL.createObjectURL(image);
        setBlob({ of: url, url: made });
      })
      .catch(() => undefined);
    return () => {
      abort.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [url]);
  if (blob?.of !== url) return <>{letter(name)}</>;
  return <Image url={blob.url} name={name} size={size} />;
}

function letter(name: string): string {
  const [first = "?"] = name.match(/[\p{L}\p{N}]/u) ?? [];
  return first.toUpperCase();
}
