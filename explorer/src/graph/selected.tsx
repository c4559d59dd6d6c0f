// What can be said of the selected version: what can be upgraded to it, and what it can be upgraded to.

import { Link } from "../address";
import { Deprecated, FirstOf } from "../parts";
import { counted, reasonText } from "../parts/format";
import { Glyph } from "../parts/glyph";
import type { GraphVersion, Selection } from "./graph";
import type { Step, Upgrades } from "./upgrades";

/** Steps that are listed at once; the others open on demand. */
const SHOWN_STEPS = 8;

interface SelectedProps {
  catalog: string;
  packageName: string;
  upgrades: Upgrades<GraphVersion>;
  selection: Selection;
  /** What is shown while nothing is selected. */
  resting: string | undefined;
  onSelect: (selection: Selection) => void;
}

export function Selected(props: SelectedProps) {
  const { upgrades, selection, resting } = props;
  const row = upgrades.places.get(selection.current ?? resting ?? "");
  const marked = upgrades.places.get(selection.marked ?? "");
  return (
    <aside
      class={selection.current === undefined ? "graph-selected card resting" : "graph-selected card"}
      aria-label="Selected version"
    >
      {row === undefined ? (
        <p class="subtle">Select a version to see what can be upgraded to it, and what it can be upgraded to.</p>
      ) : marked === undefined || marked === row ? (
        <One {...props} row={row} />
      ) : (
        <Two {...props} from={Math.max(row, marked)} to={Math.min(row, marked)} />
      )}
    </aside>
  );
}

function One({ catalog, packageName, upgrades, selection, onSelect, row }: SelectedProps & { row: number }) {
  const { name, bundle, entries } = upgrades.rows[row]!;
  const isSelected = selection.current !== undefined;
  const isMarked = selection.marked === name;
  // The button goes with the selection; the focus goes to the row.
  const clear = () => {
    const selected = document.getElementById(`row-${row}`);
    onSelect({});
    selected?.focus({ preventScroll: true });
  };
  return (
    <>
      <header>
        <h2>
          <bdi>{bundle?.version ?? name}</bdi>
        </h2>
        {isSelected && (
          <button type="button" class="plain" aria-label="Clear the selection" title="Clear the selection (Esc)" onClick={clear}>
            <Glyph name="close" />
          </button>
        )}
      </header>
      {!isSelected && <p>Shown until you select another version.</p>}
      <p class="subtle">
        <bdi>{name}</bdi>
      </p>
      {bundle?.deprecation && (
        <p class="message">
          <Deprecated message={bundle.deprecation.message} /> {bundle.deprecation.message}
        </p>
      )}
      <p>
        {entries.length === 0
          ? "In no channel."
          : `In ${entries.map(({ channel }) => upgrades.channels[channel]!.name).join(", ")}.`}
      </p>
      <p class="actions">
        {bundle && (
          <Link class="button" to={{ page: "version", catalog, package: packageName, bundle: name }}>
            Open
          </Link>
        )}
        <button
          type="button"
          aria-pressed={isMarked}
          onClick={() => onSelect({ current: name, marked: isMarked ? undefined : name })}
        >
          {isMarked ? "Select another version" : "Compare with another"}
        </button>
      </p>
      <Steps
        title="Can be upgraded to"
        none="Nothing"
        steps={upgrades.successors(row)}
        upgrades={upgrades}
        onSelect={onSelect}
      />
      <Steps
        title="Can be upgraded to it"
        none="No other version"
        steps={upgrades.predecessors(row)}
        upgrades={upgrades}
        onSelect={onSelect}
      />
    </>
  );
}

function Two({ catalog, packageName, upgrades, onSelect, from, to }: SelectedProps & { from: number; to: number }) {
  const label = (row: number) => upgrades.rows[row]!.bundle?.version ?? upgrades.rows[row]!.name;
  const path = upgrades.path(from, to);
  const haveBundles = upgrades.rows[from]!.bundle && upgrades.rows[to]!.bundle;
  return (
    <>
      <h2>
        <bdi>{label(from)}</bdi> to <bdi>{label(to)}</bdi>
      </h2>
      {path ? (
        <>
          <p>{counted(path.length - 1, "upgrade")} at least:</p>
          <ol class="graph-path">
            {path.map((row) => (
              <li key={row}>
                <bdi>{label(row)}</bdi>
              </li>
            ))}
          </ol>
        </>
      ) : (
        <p>No sequence of upgrades leads from one to the other.</p>
      )}
      <p class="actions">
        {haveBundles && (
          <Link
            class="button"
            to={{
              page: "compare",
              catalog,
              package: packageName,
              from: upgrades.rows[from]!.name,
              to: upgrades.rows[to]!.name,
            }}
          >
            Compare
          </Link>
        )}
        <button type="button" onClick={() => onSelect({ current: upgrades.rows[to]!.name })}>
          Clear
        </button>
      </p>
    </>
  );
}

interface StepsProps extends Pick<SelectedProps, "upgrades" | "onSelect"> {
  title: string;
  none: string;
  steps: readonly Step[];
}

function Steps({ title, none, steps, upgrades, onSelect }: StepsProps) {
  const list = (shown: readonly Step[]) => (
    <ul role="list" class="graph-steps">
      {shown.map(({ row, reasons }) => {
        const { name, bundle } = upgrades.rows[row]!;
        return (
          <li key={row}>
            <button type="button" class="plain link" onClick={() => onSelect({ current: name })}>
              <bdi>{bundle?.version ?? name}</bdi>
            </button>
            <span class="subtle">{reasonText(reasons)}</span>
          </li>
        );
      })}
    </ul>
  );
  return (
    <section>
      <h3>
        {title} {steps.length > 0 && <span class="count">{steps.length}</span>}
      </h3>
      {steps.length === 0 && <p class="subtle">{none}</p>}
      <FirstOf items={steps} count={SHOWN_STEPS}>
        {list}
      </FirstOf>
    </section>
  );
}
