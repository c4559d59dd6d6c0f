// What is loaded after the editors: what knows their languages, and the schema of the server.

import type { GraphQLSchema } from "graphql";
import { useEffect, useState } from "preact/hooks";

import { send } from "./server";

export type Language = typeof import("./language");

export interface LoadedSchema {
  language: Language | undefined;
  schema: GraphQLSchema | undefined;
  /** Whether the schema could not be loaded. */
  hasFailed: boolean;
  retry: () => void;
}

/** Loads both; without the schema, the editors know words only. */
export function useSchema(): LoadedSchema {
  const [language, setLanguage] = useState<Language>();
  const [schema, setSchema] = useState<GraphQLSchema>();
  const [hasFailed, setFailed] = useState(false);
  const load = async () => {
    setFailed(false);
    const text = fetchSchema();
    // It is awaited below, and may fail before.
    text.catch(() => undefined);
    try {
      const loaded = await import("./language");
      setLanguage(loaded);
      setSchema(loaded.schemaOf(await text));
    } catch {
      setFailed(true);
    }
  };
  useEffect(() => void load(), []);
  return { language, schema, hasFailed, retry: () => void load() };
}

async function fetchSchema(): Promise<string> {
  const response = await send(new URL("../schema.graphql", document.baseURI));
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.text();
}
