// Asks for a token where the server wants to know who asks. The page keeps it in memory and nowhere else.

import { useState } from "preact/hooks";

import { isTokenWanted, token } from "../client";
import { Dialog } from "../parts/dialog";
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
  return (
    <Dialog title="A token is needed" open={useStore(isTokenWanted)} onClose={close}>
      <form class="token-form" onSubmit={use}>
        <p>
          This server shows each caller the catalogs that it may read, and wants to know who asks. The token is kept in the memory of this page,
          until you close or reload it.
        </p>
        {wasRefused && <p role="alert">The token was not accepted.</p>}
        <label>
          Bearer token
          <input type="password" autocomplete="off" required value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
        </label>
        <p>
          On a cluster, <code>kubectl create token NAME</code> makes one for a service account.
        </p>
        <button class="primary">Use the token</button>
      </form>
    </Dialog>
  );
}
