// Verdicts and causes in words. Pure.

import type { UpgradeBlockCause, UpgradeVerdict } from "../generated/documents";
import type { MarkStyle } from "./mark";

export const VERDICTS: Record<UpgradeVerdict, MarkStyle & { meaning: string }> = {
  STAYS: { label: "Stays", glyph: "done", tone: "success", meaning: "No upgrade is needed." },
  FOLLOWS: { label: "Follows", glyph: "follow", tone: "info", meaning: "Upgrades in its channel suffice." },
  SWITCHES: { label: "Switches", glyph: "switch", tone: "warning", meaning: "A channel must be switched by hand." },
  BLOCKED: { label: "Blocked", glyph: "close", tone: "danger", meaning: "There is no way." },
  UNKNOWN: { label: "Unknown", glyph: "help", tone: "plain", meaning: "The catalogs do not tell." },
};

export const CAUSES: Record<UpgradeBlockCause, string> = {
  INVALID_MAX_OPENSHIFT: "Its limit for OpenShift is invalid",
  MAX_OPENSHIFT: "It supports only lower versions of OpenShift",
  LIFE_CYCLE: "Its life cycle lists other versions of OpenShift",
  MIN_KUBERNETES: "It needs a newer Kubernetes",
  MAX_KUBERNETES: "It supports only older versions of Kubernetes",
  PACKAGE_GONE: "The next catalogs do not have it",
  CHANNEL_GONE: "The next catalogs do not have its channel",
  NO_EDGE: "No upgrade leads on in the next catalogs",
};
