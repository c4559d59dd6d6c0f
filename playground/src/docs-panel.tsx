// The documentation: the types of the schema, their fields and what they mean.

import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from "graphql";
import { useEffect, useRef, useState } from "preact/hooks";

import { Words } from "../../explorer/src/shared/words";

/** A type, and the field of it that is in sight. */
export interface DocsPlace {
  type: string;
  field?: string | undefined;
}

export interface DocsPanelProps {
  schema: GraphQLSchema;
  /** What is shown; the beginning where it is absent. */
  place: DocsPlace | undefined;
  onPlace: (place: DocsPlace | undefined) => void;
}

/** Fields and types that a search lists. */
const MAX_FOUND = 40;

export default function DocsPanel({ schema, place, onPlace }: DocsPanelProps) {
  const [text, setText] = useState("");
  const type = place && schema.getType(place.type);
  const go = (type: string, field?: string) => {
    setText("");
    onPlace({ type, field });
  };
  return (
    <>
      <input
        type="search"
        aria-label="Search types and fields"
        placeholder="Search types and fields"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      {(type || text) && (
        <p>
          <button
            type="button"
            class="link"
            onClick={() => {
              setText("");
              onPlace(undefined);
            }}
          >
            All types
          </button>
        </p>
      )}
      {text ? <Found schema={schema} text={text} go={go} /> : type ? <TypeDocs schema={schema} type={type} field={place?.field} go={go} /> : <Root schema={schema} go={go} />}
    </>
  );
}

interface GoProps {
  schema: GraphQLSchema;
  go: (type: string, field?: string) => void;
}

function Root({ schema, go }: GoProps) {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].filter((type) => type !== null && type !== undefined);
  const others = typesOf(schema).filter((type) => !roots.some(({ name }) => name === type.name));
  return (
    <>
      <Description of={schema} />
      <h3>Roots</h3>
      <TypeList types={roots} go={go} />
      <h3>Types</h3>
      <TypeList types={others} go={go} />
    </>
  );
}

function TypeList({ types, go }: { types: readonly GraphQLNamedType[]; go: GoProps["go"] }) {
  return (
    <ul>
      {types.map(({ name }) => (
        <li key={name}>
          <TypeLink name={name} text={name} go={go} />
        </li>
      ))}
    </ul>
  );
}

function Found({ schema, text, go }: GoProps & { text: string }) {
  const sought = text.trim().toLowerCase();
  const has = (name: string) => name.toLowerCase().includes(sought);
  const types = typesOf(schema);
  const found = [
    ...types.filter(({ name }) => has(name)).map(({ name }) => ({ type: name, field: undefined })),
    ...types.flatMap((type) => fieldsOf(type).filter(({ name }) => has(name)).map(({ name }) => ({ type: type.name, field: name }))),
  ];
  return (
    <div role="status">
      {found.length === 0 && <p>Nothing is called so.</p>}
      <ul>
        {found.slice(0, MAX_FOUND).map(({ type, field }) => (
          <li key={`${type}.${field ?? ""}`}>
            <button type="button" class="link" onClick={() => go(type, field)}>
              <code>{field ? `${type}.${field}` : type}</code>
            </button>
          </li>
        ))}
      </ul>
      {found.length > MAX_FOUND && <p>And {found.length - MAX_FOUND} more.</p>}
    </div>
  );
}

function TypeDocs({ schema, type, field, go }: GoProps & { type: GraphQLNamedType; field: string | undefined }) {
  const shown = useRef<HTMLLIElement>(null);
  useEffect(() => shown.current?.scrollIntoView({ block: "nearest" }), [type, field]);
  const possible = isAbstractType(type) ? schema.getPossibleTypes(type) : [];
  const interfaces = isObjectType(type) || isInterfaceType(type) ? type.getInterfaces() : [];
  const fields = fieldsOf(type);
  return (
    <>
      <h3>
        <code>{type.name}</code>
      </h3>
      <Description of={type} />
      {interfaces.length > 0 && <h4>Implements</h4>}
      <TypeList types={interfaces} go={go} />
      {possible.length > 0 && <h4>One of</h4>}
      <TypeList types={possible} go={go} />
      {fields.length > 0 && <h4>Fields</h4>}
      <ul>
        {fields.map((each) => (
          <li key={each.name} ref={each.name === field ? shown : null} class={each.name === field ? "sought" : undefined}>
            <Field field={each} go={go} />
          </li>
        ))}
      </ul>
      {isEnumType(type) && (
        <>
          <h4>Values</h4>
          <ul>
            {type.getValues().map((value) => (
              <li key={value.name}>
                <code>{value.name}</code>
                <Description of={value} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

type AnyField = GraphQLField<unknown, unknown> | GraphQLInputField;

function Field({ field, go }: { field: AnyField; go: GoProps["go"] }) {
  const args = "args" in field ? field.args : [];
  return (
    <>
      <code>{field.name}</code>: <TypeLink name={getNamedType(field.type).name} text={String(field.type)} go={go} />
      <Description of={field} />
      {args.length > 0 && (
        <details>
          <summary>{args.length === 1 ? "1 argument" : `${args.length} arguments`}</summary>
          <ul>
            {args.map((arg: GraphQLArgument) => (
              <li key={arg.name}>
                <code>{arg.name}</code>: <TypeLink name={getNamedType(arg.type).name} text={String(arg.type)} go={go} />
                <Description of={arg} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function TypeLink({ name, text, go }: { name: string; text: string; go: GoProps["go"] }) {
  return (
    <button type="button" class="link" onClick={() => go(name)}>
      <code>{text}</code>
    </button>
  );
}

function Description({ of }: { of: { description?: string | null | undefined; deprecationReason?: string | null | undefined } }) {
  return (
    <>
      {of.deprecationReason && (
        <p>
          <b>Deprecated:</b> <Words text={of.deprecationReason} />
        </p>
      )}
      {(of.description ?? "")
        .split(/\n\s*\n/)
        .filter(Boolean)
        .map((paragraph, at) => (
          <p key={at}>
            <Words text={paragraph} />
          </p>
        ))}
    </>
  );
}

function typesOf(schema: GraphQLSchema): GraphQLNamedType[] {
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith("__"));
  return types.sort((one, other) => one.name.localeCompare(other.name));
}

function fieldsOf(type: GraphQLNamedType): AnyField[] {
  return isObjectType(type) || isInterfaceType(type) || isInputObjectType(type) ? Object.values<AnyField>(type.getFields()) : [];
}
