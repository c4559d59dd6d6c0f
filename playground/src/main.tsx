// The page: GraphiQL over the server that it came from.

import "graphiql/setup-workers/vite";
import "graphiql/style.css";
import "@graphiql/plugin-explorer/style.css";
import "./style.css";

import { explorerPlugin } from "@graphiql/plugin-explorer";
import { createLocalStorage } from "@graphiql/toolkit";
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import { createRoot } from "react-dom/client";

import { EXAMPLES_PLUGIN } from "./examples-panel";
import { fetcher } from "./fetcher";
import welcome from "./welcome.graphql?raw";

const PLUGINS = [EXAMPLES_PLUGIN, HISTORY_PLUGIN, explorerPlugin()];

// Tabs are kept apart from those of other playgrounds that were at the same address.
const STORAGE = createLocalStorage({ namespace: "catalogql" });

function Playground() {
  return (
    <GraphiQL
      fetcher={fetcher}
      storage={STORAGE}
      plugins={PLUGINS}
      visiblePlugin={EXAMPLES_PLUGIN}
      defaultQuery={welcome}
      defaultEditorToolsVisibility="variables"
    >
      <GraphiQL.Logo>
        <span className="logo">
          catalog<em>ql</em>
        </span>
      </GraphiQL.Logo>
    </GraphiQL>
  );
}

createRoot(document.getElementById("playground")!).render(<Playground />);
