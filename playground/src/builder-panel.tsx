// The query builder at the side: the fields of the schema, to be chosen one by one.

import type { GraphQLSchema } from "graphql";
import { Explorer } from "graphiql-explorer";
import { useEffect, useRef } from "preact/hooks";

export interface BuilderPanelProps {
  schema: GraphQLSchema;
  query: string;
  onEdit: (query: string) => void;
  onRun: (operationName: string | undefined) => void;
}

/** Its colours are those of the editor. */
const COLOURS = {
  keyword: "var(--lane-6)",
  def: "var(--text)",
  property: "var(--link)",
  qualifier: "var(--info)",
  attribute: "var(--info)",
  number: "var(--lane-5)",
  string: "var(--lane-2)",
  builtin: "var(--lane-5)",
  string2: "var(--lane-2)",
  variable: "var(--lane-2)",
  atom: "var(--lane-5)",
};

const STYLES = {
  buttonStyle: { cursor: "pointer", fontSize: "1.5em", lineHeight: 0 },
  explorerActionsStyle: { paddingTop: "8px" },
  actionButtonStyle: {},
};

const ARROW_OPEN = <Sign path="M2 4l4 4 4-4" />;
const ARROW_CLOSED = <Sign path="M4 2l4 4-4 4" />;
const CHECKED = <Sign path="M1.5 1.5h9v9h-9zM3.5 6l2 2 3.5-4" />;
const UNCHECKED = <Sign path="M1.5 1.5h9v9h-9z" />;

export default function BuilderPanel({ schema, query, onEdit, onRun }: BuilderPanelProps) {
  const place = useRef<HTMLDivElement>(null);
  // What adds an operation brings no name.
  useEffect(() => place.current?.querySelector("select")?.setAttribute("aria-label", "Type of the operation to add"), [schema]);
  return (
    <div ref={place} class="builder">
      <Explorer
        schema={schema}
        query={query}
        onEdit={onEdit}
        onRunOperation={onRun}
        explorerIsOpen
        colors={COLOURS}
        styles={STYLES}
        arrowOpen={ARROW_OPEN}
        arrowClosed={ARROW_CLOSED}
        checkboxChecked={CHECKED}
        checkboxUnchecked={UNCHECKED}
      />
    </div>
  );
}

function Sign({ path }: { path: string }) {
  return (
    <svg aria-hidden="true" width="12" height="12" viewBox="0 0 12 12" fill="none" stroke="currentColor" stroke-width="1.2">
      <path d={path} />
    </svg>
  );
}
