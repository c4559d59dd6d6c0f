// A modal dialog: the browser's own, which keeps the focus inside and gives it back.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { Glyph } from "./glyph";

export interface DialogProps {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ComponentChildren;
  class?: string;
}

export function Dialog({ title, open, onClose, children, class: name = "" }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    if (!open && dialog.current?.open) dialog.current.close();
  }, [open]);
  // The browser says so a moment later; by then the dialog may be open again.
  const closed = () => {
    if (!dialog.current?.open) onClose();
  };
  // A click beside the dialog is one on its backdrop, which is the element itself.
  const clicked = (event: MouseEvent) => {
    if (event.target === dialog.current) onClose();
  };
  return (
    <dialog ref={dialog} class={name} aria-labelledby={id} onClose={closed} onClick={clicked}>
      {open && (
        <div class="sheet">
          <header>
            <h2 id={id}>{title}</h2>
            <button type="button" class="plain" aria-label="Close" onClick={onClose}>
              <Glyph name="close" />
            </button>
          </header>
          {children}
        </div>
      )}
    </dialog>
  );
}
