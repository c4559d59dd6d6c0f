// The catalog explorer.

import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/head.css";
import "./style/shell.css";

import { render } from "preact";

import { parseAddress, useAddress } from "./address";
import { MyCluster } from "./cluster/cluster-button";
import { Page, preload, prepare } from "./pages";
import { Bars } from "./shell/bars";
import { Head } from "./shell/head";
import { Help } from "./shell/help";
import { listenToKeys } from "./shell/keys";
import { follow } from "./shell/live";
import { applyTheme } from "./shell/theme";
import { TokenPrompt } from "./shell/token-prompt";

/** Time until the code of the next page is loaded, in milliseconds. */
const PRELOAD_DELAY = 4000;

applyTheme();
prepare(parseAddress(location.search));
// A task of its own: this one read the program, and is long enough where processors are slow.
setTimeout(() => {
  listenToKeys();
  render(<Explorer />, document.getElementById("page")!);
  follow();
  // After everything that the first page needs.
  setTimeout(() => requestIdleCallback?.(preload), PRELOAD_DELAY);
});

function Explorer() {
  const address = useAddress();
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Head />
      <Bars />
      <main id="main" tabIndex={-1}>
        <Page address={address} />
      </main>
      <Help />
      <MyCluster />
      <TokenPrompt />
    </>
  );
}
