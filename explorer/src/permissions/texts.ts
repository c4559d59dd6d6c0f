// Rights in words.

import type { PermissionFlag } from "../generated/documents";

/** What a service account with a risk may do. */
export const FLAG_TEXTS: Record<PermissionFlag, string> = {
  CLUSTER_ADMIN: "do everything in the cluster",
  ESCALATE: "escalate or bind roles, or impersonate others",
  GRANTS_RIGHTS: "create or change bindings of roles",
  READS_SECRETS: "read Secrets of the cluster, or of namespaces other than its own",
  WRITES_WORKLOADS: "create pods, or objects that create pods",
  EXEC: "run commands in pods",
  NODES: "change nodes, or reach their kubelets",
  TOKENS: "create tokens of service accounts",
  CERTIFICATES: "approve or sign certificates",
  ADMISSION: "change admission webhooks and policies",
  CRDS: "change custom resource definitions",
  VOLUMES: "create persistent volumes",
  NAMESPACES: "change the labels of namespaces",
  SCC: "use security context constraints other than restricted and nonroot",
  WILDCARD: "do anything else that a rule grants by *",
};

/** Whether a risk leads to all rights of the cluster. */
export function isGrave(flag: PermissionFlag): boolean {
  return flag === "CLUSTER_ADMIN" || flag === "ESCALATE" || flag === "GRANTS_RIGHTS";
}

interface Rule {
  apiGroups: readonly string[];
  resources: readonly string[];
  resourceNames: readonly string[];
  nonResourceUrls: readonly string[];
}

/** What a rule is about. */
export function ruleText({ apiGroups, resources, resourceNames, nonResourceUrls }: Rule): string {
  const groups = apiGroups.filter(Boolean).join(", ");
  const parts = [
    resources.join(", "),
    groups && resources.length > 0 && `of ${groups}`,
    resourceNames.length > 0 && `named ${resourceNames.join(", ")}`,
    nonResourceUrls.join(", "),
  ];
  return parts.filter(Boolean).join(" ");
}

interface Right {
  verbs: readonly string[];
  resource: string;
  apiGroup: string | null;
  resourceName: string | null;
  namespace: string | null;
}

/** Verbs on a resource. */
export function rightText({ verbs, resource, apiGroup, resourceName, namespace }: Right): string {
  const parts = [
    `${verbs.join(", ")} ${resource}${apiGroup ? `.${apiGroup}` : ""}`,
    resourceName && `named ${resourceName}`,
    namespace && `in ${namespace}`,
  ];
  return parts.filter(Boolean).join(" ");
}
