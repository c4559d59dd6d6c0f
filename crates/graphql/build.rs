//! Generates `fields.rs` from `schema.graphql`: an enum of the fields of each object type, and what directives say of
//! each field. What a field is, stands in the schema alone.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use apollo_compiler::Node;
use apollo_compiler::ast::{Definition, Directive, Document, FieldDefinition, ObjectTypeDefinition, Value};

const SCHEMA: &str = "../../schema.graphql";

/// Why writing into a string succeeds.
const WRITES: &str = "a string takes all text";

/// The object types of the schema.
type Objects<'s> = [&'s Node<ObjectTypeDefinition>];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCHEMA}");
    let sdl = fs::read_to_string(SCHEMA).unwrap_or_else(|error| panic!("cannot read {SCHEMA}: {error}"));
    let schema = Document::parse(sdl, SCHEMA).unwrap_or_else(|invalid| panic!("{SCHEMA}: {}", invalid.errors));
    let objects: Vec<_> = schema.definitions.iter().filter_map(Definition::as_object_type_definition).collect();
    let sized = sized_fields(&objects);
    let mut out = String::new();
    for object in &objects {
        write_enum(&mut out, object);
    }
    write_ids(&mut out, &objects);
    write_facts(&mut out, &objects, &sized);
    let path = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("fields.rs");
    fs::write(&path, out).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

/// The enum of the fields of one type.
fn write_enum(out: &mut String, object: &ObjectTypeDefinition) {
    let name = &object.name;
    let variants: Vec<_> = object.fields.iter().map(|field| variant(&field.name)).collect();
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

/// The enum of the fields of all types, and its values by name.
fn write_ids(out: &mut String, objects: &Objects<'_>) {
    let (mut variants, mut arms) = (String::new(), String::new());
    for object in objects {
        let name = &object.name;
        writeln!(variants, "    {name}({name}Field),").expect(WRITES);
        writeln!(arms, "            {:?} => Self::{name}(match field {{", name.as_str()).expect(WRITES);
        for field in &object.fields {
            let variant = variant(&field.name);
            writeln!(arms, "                {:?} => {name}Field::{variant},", field.name.as_str()).expect(WRITES);
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

/// What the directives say of each field.
fn write_facts(out: &mut String, objects: &Objects<'_>, sized: &BTreeSet<(String, String)>) {
    out.push_str("/// What the schema says of a field.\n#[expect(clippy::match_same_arms, reason = \"one arm for each field\")]\npub(crate) const fn facts(id: FieldId) -> FieldFacts {\n    match id {\n");
    for object in objects {
        for field in &object.fields {
            let is_sized = sized.contains(&(object.name.to_string(), field.name.to_string()));
            if let Some(facts) = facts(field, is_sized) {
                let (name, variant) = (&object.name, variant(&field.name));
                writeln!(out, "        FieldId::{name}({name}Field::{variant}) => {facts},").expect(WRITES);
            }
        }
    }
    out.push_str("        _ => FieldFacts::DEFAULT,\n    }\n}\n");
}

/// The facts of a field as Rust; `None` if they are the default ones.
fn facts(field: &FieldDefinition, is_sized: bool) -> Option<String> {
    let mut members = String::new();
    if let Some(cost) = field.directives.get("cost") {
        let weight: u64 = text(argument(cost, "weight")).parse().expect("a weight is a number");
        write!(members, "weight: {weight}, ").expect(WRITES);
    }
    if is_sized {
        members.push_str("list_size: ListSize::Page, ");
    } else if let Some(size) = field.directives.get("listSize").filter(|_| field.ty.is_list()) {
        let size = match size.specified_argument_by_name("assumedSize") {
            Some(assumed) => format!("ListSize::Assumed({})", assumed.to_i32().expect("a size is a number")),
            None => format!("ListSize::Sliced({:?})", text(&list(argument(size, "slicingArguments"))[0])),
        };
        write!(members, "list_size: {size}, ").expect(WRITES);
    }
    if let Some(scope) = field.directives.get("cacheScope") {
        let value = argument(scope, "scope").as_enum().expect("a scope is a value of an enum").to_string();
        let scope = match value.as_str() {
            "ARGUMENT" => {
                let path = text(argument(scope, "argument"));
                let (argument, rest) = path.split_once('.').unwrap_or((&path, ""));
                let rest: Vec<_> = rest.split('.').filter(|part| !part.is_empty()).collect();
                format!("FieldScope::Argument({argument:?}, &{rest:?})")
            }
            "EVERY_CATALOG" => "FieldScope::EveryCatalog".to_owned(),
            "METADATA" => "FieldScope::Metadata".to_owned(),
            "VOLATILE" => "FieldScope::Volatile".to_owned(),
            other => panic!("{SCHEMA}: unknown scope {other}"),
        };
        write!(members, "scope: {scope}, ").expect(WRITES);
    }
    if field.ty.inner_named_type() == "JSON" {
        members.push_str("is_json: true, ");
    }
    (!members.is_empty()).then(|| format!("FieldFacts {{ {members}..FieldFacts::DEFAULT }}"))
}

/// Fields, by type and name, that another field lists in the `sizedFields` of its `@listSize`.
fn sized_fields(objects: &Objects<'_>) -> BTreeSet<(String, String)> {
    let fields = objects.iter().flat_map(|object| &object.fields);
    let sized = fields.filter_map(|field| {
        let sized = field.directives.get("listSize")?.specified_argument_by_name("sizedFields")?;
        let names = list(sized).iter().map(|name| text(name));
        Some(names.map(|name| (field.ty.inner_named_type().to_string(), name)).collect::<Vec<_>>())
    });
    sized.flatten().collect()
}

fn argument<'d>(directive: &'d Directive, name: &str) -> &'d Value {
    directive.specified_argument_by_name(name).unwrap_or_else(|| panic!("@{} has no `{name}`", directive.name))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a string")).to_owned()
}

fn list(value: &Value) -> &[Node<Value>] {
    value.as_list().unwrap_or_else(|| panic!("{value} is not a list"))
}

/// The name of a field as a variant of an enum: `displayName` → `DisplayName`.
fn variant(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}
