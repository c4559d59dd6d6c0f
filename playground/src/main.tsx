// The page: what is in the editors comes from a link, from the last visit, or is the first example.

import "./style.css";

import { render } from "preact";

import { linkedDraft } from "./draft";
import { Playground } from "./playground";
import { applyTheme } from "./theme";

applyTheme();
const root = document.getElementById("playground")!;
root.replaceChildren();
render(<Playground linked={linkedDraft(location.search)} />, root);
