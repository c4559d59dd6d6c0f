// The catalog explorer.

import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/head.css";
import "./style/shell.css";

import { render } from "preact";

import { useAddress } from "./address";
import { Page } from "./pages";
import { Head } from "./shell/head";
import { Help } from "./shell/help";
import { listenToKeys } from "./shell/keys";
import { applyTheme } from "./shell/theme";

applyTheme();
listenToKeys();
render(<Explorer />, document.getElementById("page")!);

function Explorer() {
  const address = useAddress();
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Head />
      <main id="main" tabIndex={-1}>
        <Page address={address} />
      </main>
      <Help />
    </>
  );
}
