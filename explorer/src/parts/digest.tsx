// A digest: twelve digits of it, all of it to copy.

import { Copy } from "./copy";
import { shortDigest } from "./format";

export function Digest({ digest }: { digest: string }) {
  return (
    <span class="digest">
      <code title={digest}>{shortDigest(digest)}</code>
      <Copy text={digest} label="Copy the digest" icon />
    </span>
  );
}
