// The page around the editors: panels at the side, tabs, what can be done with a query, and its result.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { CopyButton } from "./copy-button";
import type { DocsPlace } from "./docs-panel";
import { curl, type Draft, isPrettifyKey, isRunKey, link } from "./draft";
import { Editor } from "./editor";
import { ExamplesPanel } from "./examples-panel";
import { useExecution } from "./execution";
import { type Executed, keepHistory, loadHistory, withExecuted } from "./history";
import { HistoryPanel } from "./history-panel";
import { lazily } from "./lazy";
import { executed, operations } from "./operations";
import { initialPanel, isNarrow, keepPanel, type Panel, PANEL_TITLES, Rail } from "./panels";
import { initialTabs, keepTabs, newTab, type Tab, type Tabs, titleOf, withDraft, withoutTab } from "./tabs";
import { TabList } from "./tab-list";
import { type LoadedSchema, useSchema } from "./use-schema";
import welcome from "./welcome.graphql?raw";

const DocsPanel = lazily(() => import("./docs-panel"));
const BuilderPanel = lazily(() => import("./builder-panel"));

/** What is beside the query: its variables, or headers of the request. */
const TOOLS = ["Variables", "Headers"] as const;
type Tool = (typeof TOOLS)[number];

export function Playground({ linked }: { linked: Draft | undefined }) {
  const [tabs, setTabs] = useState<Tabs>(() => initialTabs(linked, welcome));
  const [history, setHistory] = useState<readonly Executed[]>(loadHistory);
  const [panel, setPanel] = useState(() => initialPanel(linked !== undefined));
  const [place, setPlace] = useState<DocsPlace>();
  // Who opens the page begins at its top, and who opens a tab in its editor.
  const [firstId] = useState(tabs.tabs[tabs.active]!.id);
  const loaded = useSchema();
  const tab = tabs.tabs[tabs.active]!;
  const found = useMemo(() => operations(tab.query), [tab.query]);
  const operation = executed(found, tab.operationName);

  const change = (id: number, changes: Partial<Tab>) =>
    setTabs((now) => ({ ...now, tabs: now.tabs.map((each) => (each.id === id ? { ...each, ...changes } : each)) }));
  const execution = useExecution((id, response) => change(id, { response }));
  const open = (next: Panel | undefined) => {
    setPanel(next);
    keepPanel(next);
  };
  const openDraft = (draft: Draft) => setTabs((now) => withDraft(now, draft));
  const run = (operationName = tab.operationName) => {
    setHistory((now) => withExecuted(now, tab));
    void execution.run({ ...tab, operationName });
  };
  const showDocs = (type: string, field?: string) => {
    setPlace({ type, field });
    open("documentation");
  };

  useEffect(() => keepTabs(tabs), [tabs]);
  useEffect(() => keepHistory(history), [history]);
  useFirst({ linked, tab, isSubscription: operation?.type === "subscription", run: () => void execution.run(tab), change });
  useKeys({ run, prettify: () => void prettify(tab, change) });

  const { language, schema } = loaded;
  const declaration = operation && tab.query.slice(operation.from, operation.selection);
  const queryLanguage = useMemo(() => language?.queryLanguage(schema, showDocs), [language, schema]);
  const variablesLanguage = useMemo(() => language?.variablesLanguage(schema, declaration), [language, schema, declaration]);

  return (
    <div class="playground">
      <Rail open={panel} onOpen={open} />
      {panel && (
        <section class="panel" aria-label={PANEL_TITLES[panel]}>
          <div class="panel-head">
            <h2>{PANEL_TITLES[panel]}</h2>
            <button type="button" class="plain" aria-label="Close the panel" onClick={() => open(undefined)}>
              <span aria-hidden="true">×</span>
            </button>
          </div>
          {panel === "examples" && <ExamplesPanel onOpen={openDraft} />}
          {panel === "history" && <HistoryPanel history={history} onOpen={openDraft} onChange={setHistory} />}
          {panel === "documentation" && (schema ? <DocsPanel schema={schema} place={place} onPlace={setPlace} /> : <NoSchema of={loaded} />)}
          {panel === "builder" &&
            (schema ? (
              <BuilderPanel schema={schema} query={tab.query} onEdit={(query) => change(tab.id, { query })} onRun={run} />
            ) : (
              <NoSchema of={loaded} />
            ))}
        </section>
      )}
      <div class="work">
        <TabList
          titles={tabs.tabs.map(titleOf)}
          active={tabs.active}
          onShow={(active) => setTabs({ ...tabs, active })}
          onClose={(at) => setTabs(withoutTab(tabs, at))}
          onAdd={() => setTabs({ tabs: [...tabs.tabs, newTab({ query: "", variables: "" })], active: tabs.tabs.length })}
        />
        <div class="toolbar">
          {execution.running === tab.id ? (
            <button type="button" class="primary" onClick={execution.stop}>
              Stop
            </button>
          ) : (
            <button type="button" class="primary" title="Run (Ctrl-Enter)" onClick={() => run()}>
              Run
            </button>
          )}
          {found.length > 1 && (
            <select aria-label="Operation" value={operation?.name} onChange={({ currentTarget }) => change(tab.id, { operationName: currentTarget.value })}>
              {found.map(({ name }) => name && <option key={name}>{name}</option>)}
            </select>
          )}
          <button type="button" title="Prettify (Shift-Ctrl-P)" onClick={() => void prettify(tab, change)}>
            Prettify
          </button>
          <CopyButton label="Copy query" make={() => tab.query} />
          <CopyButton label="Copy link" make={() => link(tab)} />
          <CopyButton label="Copy as curl" make={() => curl(tab)} />
        </div>
        <div class="panes">
          <div class="editors">
            <section class="query" aria-label="Query" data-ready={schema ? "" : undefined}>
              <Editor
                key={tab.id}
                label="Query"
                value={tab.query}
                extension={queryLanguage}
                hasFocus={tab.id !== firstId && !isNarrow()}
                onChange={(query) => change(tab.id, { query })}
                onCursor={(offset) => {
                  const at = found.length > 1 ? found.find(({ from, to }) => from <= offset && offset <= to)?.name : undefined;
                  if (at && at !== tab.operationName) change(tab.id, { operationName: at });
                }}
              />
            </section>
            <ToolEditors tab={tab} change={change} variables={variablesLanguage} headers={language?.HEADERS_LANGUAGE} />
          </div>
          <section class="result" aria-label="Result" aria-busy={execution.running === tab.id && !tab.response}>
            <Editor key={tab.id} label="Result" value={tab.response} extension={language?.RESPONSE_LANGUAGE} />
          </section>
        </div>
      </div>
    </div>
  );
}

type Change = (id: number, changes: Partial<Tab>) => void;

interface ToolEditorsProps {
  tab: Tab;
  change: Change;
  variables: Parameters<typeof Editor>[0]["extension"];
  headers: Parameters<typeof Editor>[0]["extension"];
}

function ToolEditors({ tab, change, variables, headers }: ToolEditorsProps) {
  const [tool, setTool] = useState<Tool | undefined>(isNarrow() ? undefined : "Variables");
  return (
    <section class="tools" aria-label="Variables and headers" data-open={tool ? "" : undefined}>
      <div class="tool-names">
        {TOOLS.map((each) => (
          <button key={each} type="button" aria-expanded={each === tool} onClick={() => setTool(each === tool ? undefined : each)}>
            {each}
          </button>
        ))}
      </div>
      {tool === "Variables" && (
        <Editor key={tab.id} label={tool} value={tab.variables} extension={variables} onChange={(text) => change(tab.id, { variables: text })} />
      )}
      {tool === "Headers" && (
        <Editor key={-tab.id} label={tool} value={tab.headers} extension={headers} onChange={(text) => change(tab.id, { headers: text })} />
      )}
    </section>
  );
}

function NoSchema({ of: { hasFailed, retry } }: { of: LoadedSchema }) {
  if (!hasFailed) return <p role="status">Loading the schema…</p>;
  return (
    <div role="alert">
      <p>The schema could not be loaded: the server cannot be reached, or does not show it.</p>
      <button type="button" onClick={retry}>
        Try again
      </button>
    </div>
  );
}

interface FirstProps {
  linked: Draft | undefined;
  tab: Tab;
  isSubscription: boolean;
  run: () => void;
  change: Change;
}

/** What happens without a click: the first example, or what was left, is executed; what others wrote is only made legible. */
function useFirst({ linked, tab, isSubscription, run, change }: FirstProps) {
  const now = useRef(tab);
  now.current = tab;
  useEffect(() => {
    // What others wrote, such as the author of a link, is executed when the reader wants it.
    if (!linked) {
      if (!isSubscription) run();
      return;
    }
    // What is linked in one line was written by a program.
    if (linked.query.trim().includes("\n")) return;
    void import("./prettify").then(({ prettified }) => {
      if (now.current.query === linked.query) change(tab.id, { query: prettified(linked.query) });
    });
  }, []);
}

/** Calls what a key stands for wherever the focus is, but for what is asked in a dialog. */
function useKeys(actions: { run: () => void; prettify: () => void }) {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const isAsked = event.target instanceof Element && event.target.closest("dialog");
      const action = isRunKey(event) ? latest.current.run : isPrettifyKey(event) ? latest.current.prettify : undefined;
      if (isAsked || !action) return;
      event.preventDefault();
      // An editor would begin a new line.
      event.stopPropagation();
      action();
    };
    addEventListener("keydown", pressed, { capture: true });
    return () => removeEventListener("keydown", pressed, { capture: true });
  }, []);
}

async function prettify({ id, query, variables, headers }: Tab, change: Change) {
  const { indented, prettifiedJson } = await import("./prettify");
  change(id, { query: indented(query), variables: prettifiedJson(variables), headers: prettifiedJson(headers) });
}
