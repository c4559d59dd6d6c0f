// What the signature policy decides about the image of a catalog.

import type { SignedPart, VerificationState } from "../generated/documents";
import { Glyph } from "../parts/glyph";

interface Verification {
  state: VerificationState;
  signer: string | null;
  signed: SignedPart | null;
}

interface Refusal {
  state: VerificationState;
  reason: { code: string; message: string } | null;
}

/** A catalog that the policy refuses; nothing for others. */
export function Refused({ verification, isServed = true }: { verification: Refusal; isServed?: boolean }) {
  const { state, reason } = verification;
  if (state !== "REFUSED") return null;
  return (
    <div class="alert danger">
      <Glyph name="alert" />
      <div>
        <strong>{isServed ? "The signature policy refuses the image of this catalog" : "It is withdrawn: the signature policy refuses its image"}</strong>
        {reason && <p class="message">{reason.message}</p>}
        {reason && (
          <p>
            <code>{reason.code}</code>
          </p>
        )}
      </div>
    </div>
  );
}

/** Whether the image is signed, as facts; nothing without a policy. */
export function Signatures({ verification: { state, signer, signed } }: { verification: Verification }) {
  if (state === "NONE") return null;
  return (
    <>
      <dt>Signatures</dt>
      <dd>
        {TEXTS[state]}
        {signed === "INDEX" && " (the index is signed)"}
        {signer && (
          <>
            : <bdi>{signer}</bdi>
          </>
        )}
      </dd>
    </>
  );
}

const TEXTS: Record<Exclude<VerificationState, "NONE">, string> = {
  ACCEPTED: "None required",
  VERIFIED: "Verified",
  REFUSED: "Refused",
};
