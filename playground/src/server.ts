// Sends requests with the token of whoever asks, where the server wants to know that. The page keeps it in memory and nowhere
// else.

import { TOKEN_TEXTS, tokenFault } from "../../explorer/src/shared/token";

/** The token that was given last. */
let token: string | undefined;

/** What the dialog that is open will say: whether there is another token now. */
let asking: Promise<boolean> | undefined;

/** As `fetch`, and asks for a token until the server accepts it or the reader closes the dialog. */
export async function send(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  // Whoever writes the header in the editor means it.
  const isWritten = headers.has("authorization");
  for (;;) {
    const used = token;
    if (used && !isWritten) headers.set("authorization", `Bearer ${used}`);
    const response = await fetch(url, { ...init, headers });
    if (response.status !== 401 || isWritten || init.signal?.aborted) return response;
    const isAnother = token !== used || (await (asking ??= ask(used !== undefined)));
    if (!isAnother) return response;
  }
}

/** Asks for a token. */
function ask(wasRefused: boolean): Promise<boolean> {
  const dialog = document.createElement("dialog");
  dialog.className = "token";
  dialog.setAttribute("aria-labelledby", "token-title");
  const form = document.createElement("form");
  form.method = "dialog";
  const title = Object.assign(document.createElement("h2"), { id: "token-title", textContent: TOKEN_TEXTS.title });
  const refused = Object.assign(document.createElement("p"), { textContent: TOKEN_TEXTS.refused });
  refused.setAttribute("role", "alert");
  const label = Object.assign(document.createElement("label"), { textContent: TOKEN_TEXTS.label });
  const field = Object.assign(document.createElement("input"), { type: "password", autocomplete: "off", required: true });
  field.addEventListener("input", () => field.setCustomValidity(tokenFault(field.value)));
  label.append(field);
  const cancel = Object.assign(document.createElement("button"), { type: "button", textContent: "Cancel" });
  cancel.addEventListener("click", () => dialog.close());
  const use = Object.assign(document.createElement("button"), { className: "primary", value: "use", textContent: TOKEN_TEXTS.use });
  const about = paragraph(TOKEN_TEXTS.about);
  const hint = paragraph(TOKEN_TEXTS.hint.replaceAll("`", ""));
  form.append(title, about, ...(wasRefused ? [refused] : []), label, hint, cancel, use);
  dialog.append(form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const isGiven = dialog.returnValue === "use";
      if (isGiven) token = field.value.trim();
      asking = undefined;
      dialog.remove();
      resolve(isGiven);
    });
    dialog.showModal();
  });
}

function paragraph(text: string): HTMLParagraphElement {
  return Object.assign(document.createElement("p"), { textContent: text });
}
