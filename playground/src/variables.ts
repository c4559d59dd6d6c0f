// Variables for the examples, from what the server serves: an example answers whatever the catalogs are.

import { Kind, parse, type OperationDefinitionNode } from "graphql";

import { ask } from "./fetcher";
import sampleQuery from "./sample.graphql?raw";

/** Something of each kind that variables name. */
type Sample = Record<string, unknown>;

interface SamplePackage {
  id: string;
  name: string;
  catalog: { name: string; digest: string };
  defaultChannel: { head: { bundle: SampleBundle | null } | null } | null;
}

interface SampleBundle {
  name: string;
  providedApis: { group: string; kind: string }[];
}

let sampled: Promise<Sample> | undefined;

/** The variables that an operation demands, as the text of a JSON object; nothing when it demands none. */
export async function variablesFor(query: string): Promise<string> {
  const demanded = demandedVariables(query);
  if (demanded.length === 0) return "";
  const sample = await (sampled ??= takeSample());
  return JSON.stringify(Object.fromEntries(demanded.map((name) => [name, sample[name]])), null, 2);
}

function demandedVariables(query: string): string[] {
  const operation = parse(query).definitions.find(
    (node): node is OperationDefinitionNode => node.kind === Kind.OPERATION_DEFINITION,
  );
  const demanded = operation?.variableDefinitions?.filter(({ type }) => type.kind === Kind.NON_NULL_TYPE) ?? [];
  return demanded.map(({ variable }) => variable.name.value);
}

async function takeSample(): Promise<Sample> {
  try {
    const { data } = await ask({ query: sampleQuery });
    const packages: SamplePackage[] = data.packages.nodes;
    const rich = packages.find((each) => headOf(each)?.providedApis.length) ?? packages[0];
    return rich ? sampleOf(rich) : {};
  } catch {
    // The example is still worth a look, and the next one asks again.
    sampled = undefined;
    return {};
  }
}

function headOf({ defaultChannel }: SamplePackage): SampleBundle | null | undefined {
  return defaultChannel?.head?.bundle;
}

function sampleOf(each: SamplePackage): Sample {
  const { id, name, catalog } = each;
  const head = headOf(each);
  return {
    catalog: catalog.name,
    digest: catalog.digest,
    package: name,
    name,
    id,
    bundle: head?.name,
    gvk: head?.providedApis[0],
    request: { packageName: name, catalogs: [catalog.name] },
    from: { digest: catalog.digest },
    to: { name: catalog.name },
    schema: "olm.package",
  };
}
