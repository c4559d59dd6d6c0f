// Asks for a token where the server wants to know who asks. The page keeps it in memory and nowhere else.

import { useState } from "preact/hooks";

import { isTokenWanted, token } from "../client";
import { Dialog } from "../parts/dialog";
import { TOKEN_TEXTS, tokenFault } from "../shared/token";
import { Words } from "../shared/words";
import { useStore } from "../store";

export function TokenPrompt() {
  const [text, setText] = useState("");
  const wasRefused = useStore(token) !== undefined;
  const close = () => isTokenWanted.set(false);
  const use = (event: Event) => {
    event.preventDefault();
    close();
    setText("");
    token.set(text.trim());
  };
  const typed = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    currentTarget.setCustomValidity(tokenFault(currentTarget.value));
    setText(currentTarget.value);
  };
  return (
    <Dialog title={TOKEN_TEXTS.title} open={useStore(isTokenWanted)} onClose={close}>
      <form class="token-form" onSubmit={use}>
        <p>{TOKEN_TEXTS.about}</p>
        {wasRefused && <p role="alert">{TOKEN_TEXTS.refused}</p>}
        <label>
          {TOKEN_TEXTS.label}
          <input type="password" autocomplete="off" required value={text} onInput={typed} />
        </label>
        <p>
          <Words text={TOKEN_TEXTS.hint} />
        </p>
        <button class="primary">{TOKEN_TEXTS.use}</button>
      </form>
    </Dialog>
  );
}
