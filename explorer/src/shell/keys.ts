// Single keys, for those who want them: none does anything while something is typed, and all can be switched off.

import { EVERYTHING, navigate, parseAddress } from "../address";
import { UPGRADE } from "../shared/places";
import { createStore } from "../store";
import { helpIsOpen } from "./help";

const KEY = "catalogql:keys";

/** Whether single keys do something. */
export const keysAreOn = createStore(stored());

/** For so long a `g` waits for the key after it, in milliseconds. */
const PAIR_MILLISECONDS = 1500;

let pairSince = -Infinity;

export function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (!keysAreOn.get() || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest("input, select, textarea, [contenteditable], dialog")) return;
    if (pressed(event.key, event.target)) event.preventDefault();
  });
}

/** Turns single keys on or off, for later visits too. */
export function setKeys(on: boolean) {
  keysAreOn.set(on);
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // Storage may be forbidden; it holds for this visit.
  }
}

/** Does what a key is for. Returns whether it is for something. */
function pressed(key: string, target: EventTarget | null): boolean {
  const isPair = performance.now() - pairSince < PAIR_MILLISECONDS;
  pairSince = -Infinity;
  if (isPair) return gone(key);
  switch (key) {
    case "g":
      pairSince = performance.now();
      return true;
    case "/":
      return focused(document.querySelector<HTMLElement>("#search"));
    case "?":
      helpIsOpen.set(true);
      return true;
    case "j":
      return moved(1);
    case "k":
      return moved(-1);
    case "[":
      return clicked(tab(-1));
    case "]":
      return clicked(tab(1));
    case "y":
      return clicked(document.querySelector("main .copy:not(.plain)"));
    case "p":
      return clicked(document.querySelector("main .to-playground"));
    default:
      return target instanceof Element && target.matches("[data-item]") && arrow(key, target);
  }
}

function gone(key: string): boolean {
  if (key === "l") navigate(EVERYTHING);
  else if (key === "c") navigate({ page: "catalogs" });
  else if (key === "r") navigate({ page: "resolve", channel: [], in: [] });
  else if (key === "u") navigate(parseAddress(UPGRADE.search));
  else return false;
  return true;
}

/** Tiles and rows, without those in what is closed. Of the rows of an update graph, the one that can have the focus. */
function items(): HTMLElement[] {
  const all = document.querySelectorAll<HTMLElement>("[data-item], [data-row][tabindex='0']");
  return [...all].filter((item) => item.checkVisibility());
}

/** Moves the focus among tiles or rows; from elsewhere to the first that is in sight. */
function moved(by: number): boolean {
  const row = document.activeElement?.closest("[data-row]");
  if (row) {
    // The grid moves it, which also selects.
    const key = by > 0 ? "ArrowDown" : "ArrowUp";
    return !row.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  }
  const all = items();
  const at = all.findIndex((item) => item === document.activeElement);
  if (at >= 0) return focused(all[at + by]);
  return focused(all.find((item) => item.getBoundingClientRect().top >= 0));
}

/** Moves the focus in the direction of an arrow, in a grid as well as in a column. */
function arrow(key: string, from: Element): boolean {
  if (key === "ArrowRight") return moved(1);
  if (key === "ArrowLeft") return moved(-1);
  if (key !== "ArrowDown" && key !== "ArrowUp") return false;
  const { left, top } = from.getBoundingClientRect();
  const others = items().map((item) => ({ item, box: item.getBoundingClientRect() }));
  const column = others.filter(({ box }) => Math.abs(box.left - left) < 2);
  const found = key === "ArrowDown" ? column.find(({ box }) => box.top > top + 2) : column.findLast(({ box }) => box.top < top - 2);
  return focused(found?.item ?? (key === "ArrowDown" ? others.findLast(({ box }) => box.top > top + 2)?.item : undefined));
}

function tab(by: number): Element | null {
  const tabs = [...document.querySelectorAll("main .tabs a")];
  return tabs[tabs.findIndex((each) => each.hasAttribute("aria-current")) + by] ?? null;
}

function focused(element: HTMLElement | null | undefined): boolean {
  element?.focus();
  return Boolean(element);
}

function clicked(element: Element | null): boolean {
  if (element instanceof HTMLElement) element.click();
  return Boolean(element);
}

function stored(): boolean {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}
