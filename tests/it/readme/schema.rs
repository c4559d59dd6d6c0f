//! `docs/reference/schema.md` is what a reader makes of `schema.graphql`: every type with its
//! fields and arguments, each with its description and a link to its type.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use apollo_compiler::Node;
use apollo_compiler::ast::{
    Definition, DirectiveList, Document, FieldDefinition, InputValueDefinition, Type,
};
use graphql::SDL;

use super::holds;

/// Scalars that GraphQL itself has.
const BUILT_IN: [&str; 5] = ["Boolean", "Float", "ID", "Int", "String"];

/// Sections of the document.
const SECTIONS: [&str; 5] = ["Types", "Inputs", "Enums", "Scalars", DIRECTIVES];

/// The section of the directives.
const DIRECTIVES: &str = "Directives";

#[test]
fn the_reference_of_the_schema_is_what_the_schema_says() {
    let document = Document::parse(SDL, "schema.graphql").expect("the schema can be parsed");
    holds("docs/reference/schema.md", |_| reference(&document));
}

#[test]
fn a_reader_finds_everything_of_a_type_and_its_links_lead_somewhere() {
    let text = r#"
        "All of it." schema { query: Query }
        "Begin here." type Query implements Node { "A thing." thing("Which\none." by: [By!]! = [{name: "x"}]): Thing! }
        "One of two." interface Node { "Its id." id: ID! }
        "A part." union Thing = Query
        "A way." input By @oneOf { "Its name." name: String "How." in: Order = UP }
        "A direction." enum Order { "Upwards." UP }
        "A day." scalar Day @specifiedBy(url: "https://example.com/day")
        "A price." directive @price("Its amount." of: Order) on FIELD_DEFINITION
    "#;
    let expected = "# The schema

Every type of [schema.graphql](../../schema.graphql), made from it by a test; `!` marks what is never `null`.

All of it.

- [Types](#types): [Query](#query), [Node](#node), [Thing](#thing)
- [Inputs](#inputs): [By](#by)
- [Enums](#enums): [Order](#order)
- [Scalars](#scalars): [Day](#day)
- [Directives](#directives): [price](#price-directive)

## Types

### Query

Begin here. It is a [Node](#node).

- `thing`: [Thing](#thing)! — A thing.
  - `by`: \\[[By](#by)!\\]! = `[{name: \"x\"}]` — Which one.

### Node

One of two. An interface of [Query](#query).

- `id`: ID! — Its id.

### Thing

A part. It is a [Query](#query).

## Inputs

### By

A way. Just one of its fields is given.

- `name`: String — Its name.
- `in`: [Order](#order) = `UP` — How.

## Enums

### Order

A direction.

- `UP` — Upwards.

## Scalars

### Day

A day. It is written as [its specification](https://example.com/day) says.

## Directives

### price directive

A price.

- `of`: [Order](#order) — Its amount.
";
    let document = Document::parse(text, "example.graphql").expect("the example can be parsed");
    assert_eq!(reference(&document), expected);
}

/// The whole document.
fn reference(schema: &Document) -> String {
    let mut out =
        "# The schema\n\nEvery type of [schema.graphql](../../schema.graphql), made from it by a test; `!` marks \
                   what is never `null`.\n\n"
            .to_owned();
    let about = schema
        .definitions
        .iter()
        .find_map(Definition::as_schema_definition);
    let about = about
        .and_then(|schema| schema.description.as_deref())
        .expect("the schema has a description");
    about
        .split("\n\n")
        .for_each(|paragraph| line(&mut out, &format!("{}\n", one_line(paragraph))));
    for section in SECTIONS {
        let names = types(schema, section).map(|(name, _)| {
            if section == DIRECTIVES {
                format!("[{name}](#{}-directive)", name.to_lowercase())
            } else {
                link(name)
            }
        });
        let names: Vec<_> = names.collect();
        line(
            &mut out,
            &format!(
                "- [{section}](#{}): {}",
                section.to_lowercase(),
                names.join(", ")
            ),
        );
    }
    let mut headings: BTreeSet<_> = SECTIONS
        .iter()
        .map(|section| section.to_lowercase())
        .collect();
    for section in SECTIONS {
        heading(&mut out, &format!("## {section}"));
        for (name, definition) in types(schema, section) {
            // A directive and a type may have the same name.
            let title = if section == DIRECTIVES {
                format!("{name} directive")
            } else {
                name.to_owned()
            };
            assert!(
                headings.insert(title.to_lowercase()),
                "two headings have the anchor of {name}"
            );
            heading(&mut out, &format!("### {title}"));
            write_type(schema, name, definition, &mut out);
        }
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// The types of a section, in the order of the schema.
fn types<'a>(
    schema: &'a Document,
    section: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Definition)> {
    let definitions = schema
        .definitions
        .iter()
        .filter(move |definition| section_of(definition) == Some(section));
    definitions.map(|definition| {
        (
            definition.name().expect("a type has a name").as_str(),
            definition,
        )
    })
}

/// The section that a definition is in; nothing for what is not a type.
fn section_of(definition: &Definition) -> Option<&'static str> {
    match definition {
        Definition::ObjectTypeDefinition(_)
        | Definition::InterfaceTypeDefinition(_)
        | Definition::UnionTypeDefinition(_) => Some("Types"),
        Definition::InputObjectTypeDefinition(_) => Some("Inputs"),
        Definition::EnumTypeDefinition(_) => Some("Enums"),
        Definition::ScalarTypeDefinition(_) => Some("Scalars"),
        Definition::DirectiveDefinition(_) => Some(DIRECTIVES),
        Definition::SchemaDefinition(_) => None,
        other => panic!("the reference has no section for {other}"),
    }
}

fn write_type(schema: &Document, name: &str, definition: &Definition, out: &mut String) {
    let links = |names: &[apollo_compiler::Name]| {
        names
            .iter()
            .map(|name| link(name))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match definition {
        Definition::ObjectTypeDefinition(of) => {
            let more = format!(" It is a {}.", links(&of.implements_interfaces));
            describe(
                of.description.as_ref(),
                if of.implements_interfaces.is_empty() {
                    ""
                } else {
                    &more
                },
                out,
            );
            of.fields.iter().for_each(|field| write_field(field, out));
        }
        Definition::InterfaceTypeDefinition(of) => {
            let is_one = |object: &&Node<apollo_compiler::ast::ObjectTypeDefinition>| {
                object
                    .implements_interfaces
                    .iter()
                    .any(|interface| interface == name)
            };
            let objects = schema
                .definitions
                .iter()
                .filter_map(Definition::as_object_type_definition);
            let objects: Vec<_> = objects
                .filter(is_one)
                .map(|object| object.name.clone())
                .collect();
            describe(
                of.description.as_ref(),
                &format!(" An interface of {}.", links(&objects)),
                out,
            );
            of.fields.iter().for_each(|field| write_field(field, out));
        }
        Definition::UnionTypeDefinition(of) => {
            describe(
                of.description.as_ref(),
                &format!(" It is a {}.", links(&of.members)),
                out,
            );
        }
        Definition::InputObjectTypeDefinition(of) => {
            let one = if of.directives.has("oneOf") {
                " Just one of its fields is given."
            } else {
                ""
            };
            describe(of.description.as_ref(), one, out);
            of.fields
                .iter()
                .for_each(|field| write_input("", field, out));
        }
        Definition::EnumTypeDefinition(of) => {
            describe(of.description.as_ref(), "", out);
            for value in &of.values {
                line(
                    out,
                    &format!(
                        "- `{}` — {}",
                        value.value,
                        described(value.description.as_ref())
                    ),
                );
            }
        }
        Definition::ScalarTypeDefinition(of) => {
            let url = specified_by(&of.directives);
            describe(
                of.description.as_ref(),
                &format!(" It is written as [its specification]({url}) says."),
                out,
            );
        }
        Definition::DirectiveDefinition(of) => {
            describe(of.description.as_ref(), "", out);
            of.arguments
                .iter()
                .for_each(|argument| write_input("", argument, out));
        }
        other => panic!("{other} is no type"),
    }
}

fn write_field(field: &FieldDefinition, out: &mut String) {
    let text = described(field.description.as_ref());
    line(
        out,
        &format!("- `{}`: {} — {text}", field.name, shown(&field.ty)),
    );
    field
        .arguments
        .iter()
        .for_each(|argument| write_input("  ", argument, out));
}

fn write_input(indent: &str, input: &InputValueDefinition, out: &mut String) {
    let default = input
        .default_value
        .as_ref()
        .map(|value| format!(" = `{}`", value.serialize().no_indent()))
        .unwrap_or_default();
    let text = described(input.description.as_ref());
    line(
        out,
        &format!(
            "{indent}- `{}`: {}{default} — {text}",
            input.name,
            shown(&input.ty)
        ),
    );
}

/// A paragraph of a description and something more.
fn describe(description: Option<&Node<str>>, more: &str, out: &mut String) {
    line(out, &format!("{}{more}\n", described(description)));
}

fn described(description: Option<&Node<str>>) -> String {
    one_line(description.expect("everything in the schema has a description"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A type with a link to its definition; brackets are escaped, since they are no links.
fn shown(of: &Type) -> String {
    match of {
        Type::Named(name) => link(name),
        Type::NonNullNamed(name) => format!("{}!", link(name)),
        Type::List(items) => format!("\\[{}\\]", shown(items)),
        Type::NonNullList(items) => format!("\\[{}\\]!", shown(items)),
    }
}

fn link(name: &str) -> String {
    if BUILT_IN.contains(&name) {
        name.to_owned()
    } else {
        format!("[{name}](#{})", name.to_lowercase())
    }
}

fn specified_by(directives: &DirectiveList) -> &str {
    let directive = directives
        .get("specifiedBy")
        .expect("every scalar says where it is specified");
    let url = directive
        .specified_argument_by_name("url")
        .and_then(|url| url.as_str());
    url.expect("its URL is a string")
}

/// A heading, set off by one empty line on both sides.
fn heading(out: &mut String, text: &str) {
    out.truncate(out.trim_end().len());
    line(out, &format!("\n\n{text}\n"));
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("a string takes all text");
}
