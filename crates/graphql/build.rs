//! Generates `fields.rs` from `schema.graphql`: an enum of the fields of each object type, and the
//! facts that directives state about each field. The schema is the only place that defines fields.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use apollo_parser::Parser;
use apollo_parser::cst::{
    Definition, Directive, FieldDefinition, ListType, Name, NamedType, Type, Value,
};

const SCHEMA: &str = "../../schema.graphql";

/// Panic message: writing into a string never fails.
const WRITES: &str = "a string takes all text";

/// Panic message: required parts of a valid syntax tree are present.
const PARSED: &str = "the schema parsed without errors";

/// An object type of the schema.
struct ObjectType {
    name: String,
    fields: Vec<SchemaField>,
}

/// A field of an object type.
struct SchemaField {
    name: String,
    /// Name of its type, without lists and `!`.
    type_name: String,
    is_list: bool,
    directives: Vec<Directive>,
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCHEMA}");
    let sdl =
        fs::read_to_string(SCHEMA).unwrap_or_else(|error| panic!("cannot read {SCHEMA}: {error}"));
    let objects = objects(&sdl);
    let sized = sized_fields(&objects);
    let mut out = String::new();
    for object in &objects {
        write_enum(&mut out, object);
    }
    write_ids(&mut out, &objects);
    write_facts(&mut out, &objects, &sized);
    let path = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("fields.rs");
    fs::write(&path, out)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

fn objects(sdl: &str) -> Vec<ObjectType> {
    let tree = Parser::new(sdl).parse();
    assert!(
        tree.errors().next().is_none(),
        "{SCHEMA}: {:?}",
        tree.errors().collect::<Vec<_>>()
    );
    let objects = tree
        .document()
        .definitions()
        .filter_map(|definition| match definition {
            Definition::ObjectTypeDefinition(object) => Some(object),
            _ => None,
        });
    let objects = objects.map(|object| {
        let fields = object
            .fields_definition()
            .into_iter()
            .flat_map(|fields| fields.field_definitions());
        ObjectType {
            name: name(object.name()),
            fields: fields.map(|field| SchemaField::new(&field)).collect(),
        }
    });
    objects.collect()
}

impl SchemaField {
    fn new(field: &FieldDefinition) -> Self {
        let ty = field.ty().expect(PARSED);
        let directives = field
            .directives()
            .into_iter()
            .flat_map(|directives| directives.directives());
        Self {
            name: name(field.name()),
            is_list: matches!(&ty, Type::ListType(_))
                || matches!(&ty, Type::NonNullType(inner) if inner.list_type().is_some()),
            type_name: named_type(ty),
            directives: directives.collect(),
        }
    }

    fn directive(&self, directive_name: &str) -> Option<&Directive> {
        self.directives
            .iter()
            .find(|directive| name(directive.name()) == directive_name)
    }
}

/// The type within lists and `!`.
fn named_type(ty: Type) -> String {
    let item = |list: ListType| named_type(list.ty().expect(PARSED));
    match ty {
        Type::NamedType(named) => name(named.name()),
        Type::ListType(list) => item(list),
        Type::NonNullType(inner) => inner.named_type().map_or_else(
            || item(inner.list_type().expect(PARSED)),
            |named: NamedType| name(named.name()),
        ),
    }
}

fn name(name: Option<Name>) -> String {
    name.expect(PARSED).text().to_string()
}

/// Writes the enum of the fields of one type.
fn write_enum(out: &mut String, object: &ObjectType) {
    let name = &object.name;
    let variants: Vec<_> = object
        .fields
        .iter()
        .map(|field| variant(&field.name))
        .collect();
    let text = format!(
        "/// Fields of the type `{name}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum {name}Field {{ {} }}
impl ObjectField for {name}Field {{
    const TYPE_NAME: &'static str = {:?};
    fn from_id(id: FieldId) -> Option<Self> {{
        match id {{ FieldId::{name}(field) => Some(field), _ => None }}
    }}
}}\n",
        variants.join(", "),
        name.as_str(),
    );
    out.push_str(&text);
}

/// Writes the enum of the fields of all types, and the function that finds one by names.
fn write_ids(out: &mut String, objects: &[ObjectType]) {
    let mut variants = String::new();
    let mut arms = String::new();
    for object in objects {
        let name = &object.name;
        writeln!(variants, "    {name}({name}Field),").expect(WRITES);
        writeln!(
            arms,
            "            {:?} => Self::{name}(match field {{",
            name.as_str()
        )
        .expect(WRITES);
        for field in &object.fields {
            let variant = variant(&field.name);
            writeln!(
                arms,
                "                {:?} => {name}Field::{variant},",
                field.name.as_str()
            )
            .expect(WRITES);
        }
        arms.push_str("                _ => return Self::Other,\n            }),\n");
    }
    let text = format!(
        "/// A field of an object type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldId {{
{variants}    /// Any other field: of introspection, or of an interface.
    Other,
}}
impl FieldId {{
    /// The field of this name of an object type.
    #[expect(clippy::too_many_lines, reason = \"one line for each field of the schema\")]
    pub(crate) fn from_names(type_name: &str, field: &str) -> Self {{
        match type_name {{
{arms}            _ => Self::Other,
        }}
    }}
}}\n"
    );
    out.push_str(&text);
}

/// Writes the function that returns the facts about each field.
fn write_facts(out: &mut String, objects: &[ObjectType], sized: &BTreeSet<(String, String)>) {
    out.push_str("/// Returns the facts that the schema states about a field.\n#[expect(clippy::match_same_arms, clippy::too_many_lines, reason = \"one arm for each field\")]\npub(crate) const fn facts(id: FieldId) -> FieldFacts {\n    match id {\n");
    for object in objects {
        for field in &object.fields {
            let is_sized = sized.contains(&(object.name.clone(), field.name.clone()));
            if let Some(facts) = facts(field, is_sized) {
                let name = &object.name;
                let variant = variant(&field.name);
                writeln!(
                    out,
                    "        FieldId::{name}({name}Field::{variant}) => {facts},"
                )
                .expect(WRITES);
            }
        }
    }
    out.push_str("        _ => FieldFacts::DEFAULT,\n    }\n}\n");
}

/// The facts of a field as Rust; `None` if they are the default ones.
fn facts(field: &SchemaField, is_sized: bool) -> Option<String> {
    let mut members = String::new();
    if let Some(cost) = field.directive("cost") {
        let weight: u64 = text(argument(cost, "weight"))
            .parse()
            .expect("a weight is a number");
        write!(members, "weight: {weight}, ").expect(WRITES);
    }
    if is_sized {
        members.push_str("list_size: ListSize::Page, ");
    } else if let Some(size) = field.directive("listSize").filter(|_| field.is_list) {
        let size = match optional_argument(size, "assumedSize") {
            Some(assumed) => format!("ListSize::Assumed({})", integer(assumed)),
            None => format!(
                "ListSize::Sliced({:?})",
                strings(argument(size, "slicingArguments"))[0]
            ),
        };
        write!(members, "list_size: {size}, ").expect(WRITES);
    }
    if let Some(scope) = field.directive("cacheScope") {
        let scope = match enum_value(argument(scope, "scope")).as_str() {
            "ARGUMENT" => {
                let path = text(argument(scope, "argument"));
                let (argument, rest) = path.split_once('.').unwrap_or((&path, ""));
                let rest: Vec<_> = rest.split('.').filter(|part| !part.is_empty()).collect();
                format!("FieldScope::Argument({argument:?}, &{rest:?})")
            }
            "EVERY_CATALOG" => "FieldScope::EveryCatalog".to_owned(),
            "METADATA" => "FieldScope::Metadata".to_owned(),
            "SERVER" => "FieldScope::Server".to_owned(),
            "VOLATILE" => "FieldScope::Volatile".to_owned(),
            other => panic!("{SCHEMA}: unknown scope {other}"),
        };
        write!(members, "scope: {scope}, ").expect(WRITES);
    }
    if field.type_name == "JSON" {
        members.push_str("is_json: true, ");
    }
    (!members.is_empty()).then(|| format!("FieldFacts {{ {members}..FieldFacts::DEFAULT }}"))
}

/// Fields, by type and name, that another field lists in the `sizedFields` of its `@listSize`.
fn sized_fields(objects: &[ObjectType]) -> BTreeSet<(String, String)> {
    let fields = objects.iter().flat_map(|object| &object.fields);
    let sized = fields.filter_map(|field| {
        let sized = optional_argument(field.directive("listSize")?, "sizedFields")?;
        Some(
            strings(sized)
                .into_iter()
                .map(|name| (field.type_name.clone(), name)),
        )
    });
    sized.flatten().collect()
}

/// The value of an argument that must be there.
fn argument(directive: &Directive, argument_name: &str) -> Value {
    optional_argument(directive, argument_name)
        .unwrap_or_else(|| panic!("@{} has no `{argument_name}`", name(directive.name())))
}

fn optional_argument(directive: &Directive, argument_name: &str) -> Option<Value> {
    let mut arguments = directive
        .arguments()
        .into_iter()
        .flat_map(|arguments| arguments.arguments());
    arguments
        .find(|argument| name(argument.name()) == argument_name)?
        .value()
}

fn text(value: Value) -> String {
    match value {
        Value::StringValue(text) => text.into(),
        other => panic!("{other:?} is not a string"),
    }
}

fn integer(value: Value) -> i32 {
    match value {
        Value::IntValue(number) => number.try_into().expect("an Int has 32 bits"),
        other => panic!("{other:?} is not an integer"),
    }
}

fn enum_value(value: Value) -> String {
    match value {
        Value::EnumValue(value) => value.text().to_string(),
        other => panic!("{other:?} is not a value of an enum"),
    }
}

fn strings(value: Value) -> Vec<String> {
    match value {
        Value::ListValue(list) => list.values().map(text).collect(),
        other => panic!("{other:?} is not a list"),
    }
}

/// The name of a field as a variant of an enum: `displayName` → `DisplayName`.
fn variant(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}
