// The dialog with keys and words.

import { Dialog } from "../parts/dialog";
import { createStore, useStore } from "../store";

export const helpIsOpen = createStore(false);

const KEYS: readonly [string, string][] = [
  ["/", "Search"],
  ["g l", "Packages"],
  ["g c", "Catalogs"],
  ["g r", "Resolve"],
  ["j k", "Next and previous tile or row"],
  ["Enter", "Open"],
  ["[ ]", "Previous and next tab"],
  ["y", "Copy the snippet"],
  ["p", "Open this view in the playground"],
  ["?", "This help"],
  ["Esc", "Close"],
];

export function Help() {
  const isOpen = useStore(helpIsOpen);
  return (
    <Dialog title="Help" open={isOpen} onClose={() => helpIsOpen.set(false)}>
      <table class="keys">
        <tbody>
          {KEYS.map(([keys, what]) => (
            <tr key={keys}>
              <td>
                {keys.split(" ").map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </td>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
