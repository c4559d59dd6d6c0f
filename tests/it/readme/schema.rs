//! `docs/reference/schema.md` is what a reader makes of `schema.graphql`: every type with its
//! fields and arguments, each with its description and a link to its type.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use apollo_compiler::Node;
use apollo_compiler::ast::{
    Definition, DirectiveList, Document, FieldDefinition, InputValueDefinition, Type,
};
use graphql::SDL;

use super::holds;

/// Scalars that GraphQL itself has.
const BUILT_IN: [&str; 5] = ["Boolean", "Float", "ID", "Int", "String"];

/// Section of the types at which every document begins.
const ENTRY_POINTS: &str = "Entry points";

/// Section of the scalars, which all tasks share.
const SCALARS: &str = "Scalars";

/// Section of the directives.
const DIRECTIVES: &str = "Directives";

/// What a client does, and where it begins in the schema.
struct Task {
    /// Heading of its section.
    title: &'static str,
    /// Fields (`Type.field`) and types from which the types of the task are reached. Other tasks
    /// do not follow them.
    starts: &'static [&'static str],
}

/// The tasks. A type is in the section of the first one that reaches it.
const TASKS: [Task; 7] = [
    Task {
        title: "Find and browse",
        starts: &[
            "Query.catalogs",
            "Query.catalog",
            "Query.packages",
            "Query.package",
            "Query.channel",
            "Query.bundles",
            "Query.bundle",
            "Query.suggest",
            "Query.node",
            "Query.nodes",
            "FacetValue",
        ],
    },
    Task {
        title: "Read a bundle",
        starts: &[
            "Query.metas",
            "Catalog.metas",
            "CsvMetadata",
            "Property",
            "Meta",
            "RelatedImage",
        ],
    },
    Task {
        title: "Install",
        starts: &["Query.resolve", "Query.solve"],
    },
    Task {
        title: "Mirror",
        starts: &["Catalog.mirrorSet"],
    },
    Task {
        title: "Upgrade",
        starts: &[
            "Query.availableUpgrades",
            "Query.platformUpgrade",
            "Query.platformMatrix",
            "UpdateGraph",
            "UpdateEdge",
            "UpdateReason",
            "Deprecation",
            "VersionLifecycle",
        ],
    },
    Task {
        title: "Compare and watch",
        starts: &["Query.diff", "Subscription.catalogChanged"],
    },
    Task {
        title: "Operate a server",
        starts: &[
            "Query.server",
            "Query.catalogStatuses",
            "Catalog.status",
            "CatalogStatus",
            "Catalog.verification",
            "CatalogVerification",
            "Problem",
            "ProblemConnection",
            "ProblemCount",
            "ProblemSeverity",
            "CacheScope",
        ],
    },
];

#[test]
fn the_reference_of_the_schema_is_what_the_schema_says() {
    let document = Document::parse(SDL, "schema.graphql").expect("the schema can be parsed");
    holds("docs/reference/schema.md", |_| reference(&document, &TASKS));
}

#[test]
fn a_reader_finds_everything_of_a_type_and_its_links_lead_somewhere() {
    let text = r#"
        "All of it." schema { query: Query }
        "Begin here." type Query implements Node { "A thing." thing("Which\none." by: [By!]! = [{name: "x"}]): Thing! "The sorting." sorted: Sorted! }
        "One of two." interface Node { "Its id." id: ID! }
        "A part." union Thing = Stone
        "A stone." type Stone { "How." sorted: Sorted! "Its age." day: Day }
        "Things in order." type Sorted { "How." order: Order! "What." things: [Thing!]! }
        "A way." input By @oneOf { "Its name." name: String "How." in: Order = UP }
        "A direction." enum Order { "Upwards." UP }
        "A day." scalar Day @specifiedBy(url: "https://example.com/day")
        "A price." directive @price("Its amount." of: Order) on FIELD_DEFINITION
    "#;
    let tasks = [
        Task {
            title: "Look",
            starts: &["Query.thing"],
        },
        Task {
            title: "Sort",
            starts: &["Query.sorted", "Stone.sorted", "Order"],
        },
    ];
    let expected = "# The schema

Every type of [schema.graphql](../../schema.graphql), made from it by a test; `!` marks what is never `null`.

All of it.

- [Entry points](#entry-points): [Query](#query), [Node](#node)
- [Look](#look), from `Query.thing`: [Thing](#thing), [Stone](#stone), [By](#by)
- [Sort](#sort), from `Query.sorted`: [Sorted](#sorted), [Order](#order)
- [Scalars](#scalars): [Day](#day)
- [Directives](#directives): [price](#price-directive)

## Entry points

### Query

Begin here. It is a [Node](#node).

- `thing`: [Thing](#thing)! — A thing.
  - `by`: \\[[By](#by)!\\]! = `[{name: \"x\"}]` — Which one.
- `sorted`: [Sorted](#sorted)! — The sorting.

### Node

One of two. An interface of [Query](#query).

- `id`: ID! — Its id.

## Look

### Thing

A part. It is a [Stone](#stone).

### Stone

A stone.

- `sorted`: [Sorted](#sorted)! — How.
- `day`: [Day](#day) — Its age.

### By

Input. A way. Just one of its fields is given.

- `name`: String — Its name.
- `in`: [Order](#order) = `UP` — How.

## Sort

### Sorted

Things in order.

- `order`: [Order](#order)! — How.
- `things`: \\[[Thing](#thing)!\\]! — What.

### Order

Enum. A direction.

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
    assert_eq!(reference(&document, &tasks), expected);
}

/// The whole document.
fn reference(schema: &Document, tasks: &[Task]) -> String {
    let sections = Sections::new(schema, tasks);
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
    for section in &sections.titles {
        let names = sections.types(schema, section).map(|(name, _)| {
            if *section == DIRECTIVES {
                format!("[{name}](#{}-directive)", name.to_lowercase())
            } else {
                link(name)
            }
        });
        let names: Vec<_> = names.collect();
        let roots: Vec<_> = tasks
            .iter()
            .filter(|task| task.title == *section)
            .flat_map(|task| task.starts)
            .filter(|start| is_root(start))
            .map(|start| format!("`{start}`"))
            .collect();
        let from = if roots.is_empty() {
            String::new()
        } else {
            format!(", from {}", roots.join(", "))
        };
        line(
            &mut out,
            &format!(
                "- [{section}](#{}){from}: {}",
                anchor(section),
                names.join(", ")
            ),
        );
    }
    let mut headings: BTreeSet<_> = sections.titles.iter().map(|title| anchor(title)).collect();
    for section in &sections.titles {
        heading(&mut out, &format!("## {section}"));
        for (name, definition) in sections.types(schema, section) {
            // A directive and a type may have the same name.
            let title = if *section == DIRECTIVES {
                format!("{name} directive")
            } else {
                name.to_owned()
            };
            assert!(
                headings.insert(anchor(&title)),
                "two headings have the anchor of {name}"
            );
            heading(&mut out, &format!("### {title}"));
            write_type(schema, name, definition, &mut out);
        }
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// The sections of the document.
struct Sections<'a> {
    titles: Vec<&'static str>,
    /// Section of each definition by its name; directives have an `@`.
    section_of: BTreeMap<String, &'static str>,
    /// Starts of tasks: others do not follow them.
    starts: BTreeSet<&'a str>,
}

impl<'a> Sections<'a> {
    fn new(schema: &Document, tasks: &'a [Task]) -> Self {
        let titles = tasks.iter().map(|task| task.title);
        let mut sections = Self {
            titles: [ENTRY_POINTS]
                .into_iter()
                .chain(titles)
                .chain([SCALARS, DIRECTIVES])
                .collect(),
            section_of: BTreeMap::new(),
            starts: tasks.iter().flat_map(|task| task.starts).copied().collect(),
        };
        for definition in &schema.definitions {
            let section = match definition {
                Definition::ScalarTypeDefinition(_) => SCALARS,
                Definition::DirectiveDefinition(_) => DIRECTIVES,
                Definition::ObjectTypeDefinition(_) | Definition::InterfaceTypeDefinition(_)
                    if ["Query", "Subscription", "Node"].contains(&name_of(definition)) =>
                {
                    ENTRY_POINTS
                }
                _ => continue,
            };
            sections.section_of.insert(key(definition), section);
        }
        for root in ["Query", "Subscription"] {
            let fields = find(schema, root).map(fields_of).unwrap_or_default();
            for field in fields {
                assert!(
                    sections.starts.contains(&*format!("{root}.{field}")),
                    "no task of TASKS begins at `{root}.{field}`: add it to the one that it is for"
                );
            }
        }
        for task in tasks {
            for start in task.starts {
                let reached = match start.split_once('.') {
                    Some((name, field)) => {
                        let definition = find(schema, name);
                        let of_field = definition.and_then(|of| of_field(of, field));
                        of_field.unwrap_or_else(|| panic!("the schema has no field `{start}`"))
                    }
                    None => vec![(*start).to_owned()],
                };
                for name in reached {
                    if name == *start || !sections.starts.contains(&*name) {
                        sections.reach(schema, &name, task.title);
                    }
                }
            }
        }
        sections
    }

    /// Puts a type into a section, with all that it leads to.
    fn reach(&mut self, schema: &Document, name: &str, section: &'static str) {
        if BUILT_IN.contains(&name) || self.section_of.contains_key(name) {
            return;
        }
        let definition =
            find(schema, name).unwrap_or_else(|| panic!("the schema has no type `{name}`"));
        self.section_of.insert(name.to_owned(), section);
        for field in fields_of(definition) {
            if !self.starts.contains(&*format!("{name}.{field}")) {
                for of in of_field(definition, &field).expect("it is a field of it") {
                    self.follow(schema, &of, section);
                }
            }
        }
        for of in related(schema, definition) {
            self.follow(schema, &of, section);
        }
    }

    fn follow(&mut self, schema: &Document, name: &str, section: &'static str) {
        if !self.starts.contains(name) {
            self.reach(schema, name, section);
        }
    }

    /// The types of a section, in the order of the schema.
    fn types<'s>(
        &'s self,
        schema: &'s Document,
        section: &'s str,
    ) -> impl Iterator<Item = (&'s str, &'s Definition)> {
        let definitions = schema
            .definitions
            .iter()
            .filter(|definition| definition.as_schema_definition().is_none());
        definitions
            .filter(move |definition| {
                let of = self.section_of.get(&key(definition));
                *of.unwrap_or_else(|| {
                    panic!(
                        "no task of TASKS reaches `{}`: name its field or type as a start",
                        name_of(definition)
                    )
                }) == section
            })
            .map(|definition| (name_of(definition), definition))
    }
}

/// Tells whether a start is a field of an entry point.
fn is_root(start: &str) -> bool {
    start.starts_with("Query.") || start.starts_with("Subscription.")
}

fn name_of(definition: &Definition) -> &str {
    definition.name().expect("a type has a name").as_str()
}

fn key(definition: &Definition) -> String {
    match definition {
        Definition::DirectiveDefinition(of) => format!("@{}", of.name),
        Definition::SchemaDefinition(_) => String::new(),
        other => name_of(other).to_owned(),
    }
}

/// The type of a name.
fn find<'a>(schema: &'a Document, name: &str) -> Option<&'a Definition> {
    schema
        .definitions
        .iter()
        .find(|definition| key(definition) == name)
}

/// Names of the fields of a type.
fn fields_of(definition: &Definition) -> Vec<String> {
    let outputs = |fields: &[Node<FieldDefinition>]| {
        fields
            .iter()
            .map(|field| field.name.to_string())
            .collect::<Vec<_>>()
    };
    match definition {
        Definition::ObjectTypeDefinition(of) => outputs(&of.fields),
        Definition::InterfaceTypeDefinition(of) => outputs(&of.fields),
        Definition::InputObjectTypeDefinition(of) => of
            .fields
            .iter()
            .map(|field| field.name.to_string())
            .collect(),
        _ => Vec::new(),
    }
}

/// Types of a field and of its arguments.
fn of_field(definition: &Definition, name: &str) -> Option<Vec<String>> {
    let of_output = |fields: &[Node<FieldDefinition>]| {
        let field = fields.iter().find(|field| field.name == name)?;
        let arguments = field.arguments.iter().map(|argument| &*argument.ty);
        let all = [&field.ty].into_iter().chain(arguments);
        Some(all.map(|ty| ty.inner_named_type().to_string()).collect())
    };
    match definition {
        Definition::ObjectTypeDefinition(of) => of_output(&of.fields),
        Definition::InterfaceTypeDefinition(of) => of_output(&of.fields),
        Definition::InputObjectTypeDefinition(of) => {
            let field = of.fields.iter().find(|field| field.name == name)?;
            Some(vec![field.ty.inner_named_type().to_string()])
        }
        _ => None,
    }
}

/// Members of a union, and types that implement an interface.
fn related(schema: &Document, definition: &Definition) -> Vec<String> {
    match definition {
        Definition::UnionTypeDefinition(of) => of.members.iter().map(ToString::to_string).collect(),
        Definition::InterfaceTypeDefinition(of) => {
            let objects = schema
                .definitions
                .iter()
                .filter_map(Definition::as_object_type_definition);
            objects
                .filter(|object| object.implements_interfaces.contains(&of.name))
                .map(|object| object.name.to_string())
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The anchor that readers of Markdown give a heading.
fn anchor(title: &str) -> String {
    title.to_lowercase().replace(' ', "-")
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
            describe_kind("Input", of.description.as_ref(), one, out);
            of.fields
                .iter()
                .for_each(|field| write_input("", field, out));
        }
        Definition::EnumTypeDefinition(of) => {
            describe_kind("Enum", of.description.as_ref(), "", out);
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

/// A paragraph of a description that begins with the kind of the type.
fn describe_kind(kind: &str, description: Option<&Node<str>>, more: &str, out: &mut String) {
    line(out, &format!("{kind}. {}{more}\n", described(description)));
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
