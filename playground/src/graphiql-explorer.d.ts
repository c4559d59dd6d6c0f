// The types of `graphiql-explorer`, which brings none: what the query builder uses.

declare module "graphiql-explorer" {
  import type { GraphQLSchema } from "graphql";
  import type { ComponentType, JSX } from "preact";

  export const Explorer: ComponentType<{
    schema: GraphQLSchema;
    query: string;
    onEdit: (query: string) => void;
    onRunOperation: (operationName: string | undefined) => void;
    explorerIsOpen: boolean;
    colors: Record<string, string>;
    styles: Record<string, Record<string, string | number>>;
    arrowOpen: JSX.Element;
    arrowClosed: JSX.Element;
    checkboxChecked: JSX.Element;
    checkboxUnchecked: JSX.Element;
  }>;
}
