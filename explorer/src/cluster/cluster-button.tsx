// The reader's cluster in the head of every page. Its dialog is loaded when it is first opened.

import { useEffect, useState } from "preact/hooks";

import { useStore } from "../store";
import { useModule } from "../use-module";
import { cluster, clusterIsOpen, clusterText, installed } from "./cluster";
import type { ClusterDialog } from "./cluster-dialog";

let dialog: typeof ClusterDialog | undefined;

async function loadDialog(): Promise<typeof ClusterDialog> {
  dialog = (await import("./cluster-dialog")).ClusterDialog;
  return dialog;
}

export function ClusterButton() {
  const text = clusterText(useStore(cluster));
  const count = useStore(installed).length;
  return (
    <button type="button" class="plain cluster" aria-haspopup="dialog" onClick={() => clusterIsOpen.set(true)}>
      {text || (count > 0 ? `My cluster: ${count} installed` : "My cluster")}
    </button>
  );
}

/** The dialog, once it was opened. */
export function MyCluster() {
  const open = useStore(clusterIsOpen);
  const [isWanted, setWanted] = useState(open);
  useEffect(() => {
    if (open) setWanted(true);
  }, [open]);
  return isWanted ? <LoadedDialog open={open} onClose={() => clusterIsOpen.set(false)} /> : null;
}

function LoadedDialog(props: { open: boolean; onClose: () => void }) {
  const { module: Shown } = useModule(dialog, loadDialog);
  return Shown ? <Shown {...props} /> : null;
}
