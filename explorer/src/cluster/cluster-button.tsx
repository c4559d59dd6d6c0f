// The reader's cluster in the head of every page. Its dialog is loaded when it is first opened.

import { useState } from "preact/hooks";

import { useStore } from "../store";
import { useModule } from "../use-module";
import { cluster, clusterText, installed } from "./cluster";
import type { ClusterDialog } from "./cluster-dialog";

let dialog: typeof ClusterDialog | undefined;

async function loadDialog(): Promise<typeof ClusterDialog> {
  dialog = (await import("./cluster-dialog")).ClusterDialog;
  return dialog;
}

export function ClusterButton() {
  const [isWanted, setWanted] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const text = clusterText(useStore(cluster));
  const count = useStore(installed).length;
  const open = () => {
    setWanted(true);
    setOpen(true);
  };
  return (
    <>
      <button type="button" class="plain cluster" aria-haspopup="dialog" onClick={open}>
        {text || (count > 0 ? `My cluster: ${count} installed` : "My cluster")}
      </button>
      {isWanted && <LoadedDialog open={isOpen} onClose={() => setOpen(false)} />}
    </>
  );
}

function LoadedDialog(props: { open: boolean; onClose: () => void }) {
  const { module: Shown } = useModule(dialog, loadDialog);
  return Shown ? <Shown {...props} /> : null;
}
