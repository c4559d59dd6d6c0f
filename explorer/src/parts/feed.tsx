// The Atom feed of a catalog or of one of its packages: a link for people, and one that browsers find.

import { useEffect } from "preact/hooks";

export interface FeedProps {
  catalog: string;
  package?: string | undefined;
  class?: string | undefined;
}

export function Feed({ catalog, package: name, class: style }: FeedProps) {
  // Relative to the document, which is at the root of the server.
  const url = ["feeds", catalog, name].filter((part) => part !== undefined).map(encodeURIComponent).join("/");
  useEffect(() => {
    const link = document.createElement("link");
    link.rel = "alternate";
    link.type = "application/atom+xml";
    link.href = url;
    link.title = `Changes of ${name ?? catalog}`;
    document.head.append(link);
    return () => link.remove();
  }, [url, catalog, name]);
  return (
    <a class={style} href={url} title={`Changes of ${name ?? catalog} as an Atom feed`}>
      Feed
    </a>
  );
}
