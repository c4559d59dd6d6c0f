//! What commands print: lists of objects of the API as tables and in the formats of kubectl.

use std::fmt::Write as _;
use std::io::{self, Write};

use printing::{ignore_closed_pipe, table, text, whole_table};
use serde_json::{Map, Value, json};

use crate::error::{CommandError, ExitStatus};
use crate::jsonpath::Template;

/// Version of the objects that are printed as JSON and YAML.
const API_VERSION: &str = "catalogql.io/v1alpha1";

/// What kubectl prints where there is no value.
const NONE: &str = "<none>";

/// What is said of an empty list.
pub(crate) const NOTHING_FOUND: &str = "nothing found";

/// Header of the column that is in every table whose items are of several catalogs.
const CATALOG: &str = "CATALOG";

/// Format of the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    #[default]
    Table,
    Wide,
    Json,
    Yaml,
    Name,
    JsonPath(Template),
    /// One item a line; of `images`.
    Lines,
    /// Drawings; of `graph`.
    Mermaid,
    Dot,
    Svg,
    Lanes,
}

/// A column of a table.
pub(crate) struct TableColumn {
    header: &'static str,
    is_wide: bool,
    value: fn(&Value) -> String,
}

/// Objects of one kind, and how they are shown.
pub(crate) struct ObjectList {
    /// Kind of an item, such as `Package`.
    pub(crate) kind: &'static str,
    pub(crate) columns: &'static [TableColumn],
    /// What `-o name` prints for an item.
    pub(crate) name: fn(&Value) -> String,
    pub(crate) items: Vec<Value>,
}

/// A column of every table.
pub(crate) const fn column(header: &'static str, value: fn(&Value) -> String) -> TableColumn {
    TableColumn {
        header,
        is_wide: false,
        value,
    }
}

/// A column of `-o wide`.
pub(crate) const fn wide(header: &'static str, value: fn(&Value) -> String) -> TableColumn {
    TableColumn {
        header,
        is_wide: true,
        value,
    }
}

/// Whether there is a value at a pointer: a column such as DEPRECATED.
pub(crate) fn is_set(item: &Value, pointer: &str) -> String {
    let is_set = item.pointer(pointer).is_some_and(|value| !value.is_null());
    is_set.to_string()
}

/// Parses the value of `-o`.
pub(crate) fn parse_output(text: &str) -> Result<OutputFormat, String> {
    if let Some(template) = text.strip_prefix("jsonpath=") {
        return Template::parse(template).map(OutputFormat::JsonPath);
    }
    Ok(match text {
        "table" => OutputFormat::Table,
        "wide" => OutputFormat::Wide,
        "json" => OutputFormat::Json,
        "yaml" => OutputFormat::Yaml,
        "name" => OutputFormat::Name,
        "lines" => OutputFormat::Lines,
        "mermaid" => OutputFormat::Mermaid,
        "dot" => OutputFormat::Dot,
        "svg" => OutputFormat::Svg,
        "lanes" => OutputFormat::Lanes,
        _ => {
            let formats = "write table, wide, json, yaml, name or jsonpath=TEMPLATE; for `images` also lines, for `graph` \
                           lanes, mermaid, dot or svg, for `solve` mermaid";
            return Err(formats.to_owned());
        }
    })
}

impl ObjectList {
    /// Prints the items.
    pub(crate) fn print(
        &self,
        output: &OutputFormat,
        has_headers: bool,
    ) -> Result<(), CommandError> {
        match output {
            OutputFormat::Table | OutputFormat::Wide | OutputFormat::Name
                if self.items.is_empty() =>
            {
                hint(NOTHING_FOUND);
                Ok(())
            }
            OutputFormat::Table | OutputFormat::Wide => {
                let columns = self.shown_columns(*output == OutputFormat::Wide);
                let header: Vec<_> = columns
                    .iter()
                    .map(|column| column.header)
                    .filter(|_| has_headers)
                    .collect();
                let cell = |item: &Value, column: &TableColumn| {
                    let value = (column.value)(item);
                    if value.is_empty() {
                        NONE.to_owned()
                    } else {
                        value
                    }
                };
                let row = |item: &Value| {
                    columns
                        .iter()
                        .map(|column| cell(item, column))
                        .collect::<Vec<_>>()
                };
                let rows = self.items.iter().map(row);
                // Who asks for more wants to see it.
                print(&if *output == OutputFormat::Wide {
                    whole_table(header, rows)
                } else {
                    table(header, rows)
                })
            }
            OutputFormat::Name => print(&lines(self.items.iter().map(self.name))),
            _ => {
                let list = json!({
                    "apiVersion": API_VERSION, "kind": format!("{}List", self.kind), "items": self.items,
                });
                print_value(&list, output)
            }
        }
    }

    /// The columns of a table; that of the catalog also without `-o wide` if the items are of
    /// several.
    fn shown_columns(&self, is_wide: bool) -> Vec<&'static TableColumn> {
        let has_several = |column: &TableColumn| {
            let mut values = self
                .items
                .iter()
                .map(column.value)
                .filter(|value| !value.is_empty());
            values
                .next()
                .is_some_and(|first| values.any(|value| value != first))
        };
        let is_shown = |column: &&TableColumn| {
            !column.is_wide || is_wide || (column.header == CATALOG && has_several(column))
        };
        self.columns.iter().filter(is_shown).collect()
    }
}

/// Prints an object of the API.
pub(crate) fn print_object(
    kind: &str,
    object: &Value,
    output: &OutputFormat,
) -> Result<(), CommandError> {
    let mut all = Map::from_iter([
        ("apiVersion".to_owned(), json!(API_VERSION)),
        ("kind".to_owned(), json!(kind)),
    ]);
    all.extend(object.as_object().cloned().unwrap_or_default());
    print_value(&Value::Object(all), output)
}

/// Whether a format is for programs: not a table, and nothing that one command alone has.
pub(crate) fn is_structured(output: &OutputFormat) -> bool {
    matches!(
        output,
        OutputFormat::Json | OutputFormat::Yaml | OutputFormat::JsonPath(_)
    )
}

fn print_value(value: &Value, output: &OutputFormat) -> Result<(), CommandError> {
    match output {
        OutputFormat::Json => Ok(ignore_closed_pipe(printing::json(
            &mut io::stdout().lock(),
            value,
        ))?),
        OutputFormat::Yaml => print(&yaml(value)),
        OutputFormat::JsonPath(template) => print(&template.apply(value)),
        other => {
            let name = format!("{other:?}").to_lowercase();
            Err(CommandError::new(
                ExitStatus::Usage,
                format!("this command cannot print `{name}`"),
            )
            .hint("-o json prints all of it"))
        }
    }
}

/// The value as YAML.
pub(crate) fn yaml(value: &Value) -> String {
    let text = serde_saphyr::to_string(value).expect("JSON is YAML");
    if text.ends_with('\n') {
        text
    } else {
        text + "\n"
    }
}

/// Prints text to the standard output.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    print_while_read(text).map(drop)
}

/// Prints text to the standard output, and returns whether there is still somebody who reads it.
pub(crate) fn print_while_read(text: &str) -> Result<bool, CommandError> {
    match printing::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        printed => Ok(printed.map(|()| true)?),
    }
}

/// Prints what is no data, to the standard error output.
pub(crate) fn hint(text: &str) {
    // Nothing is left to do when it cannot be printed.
    let _ = writeln!(printing::stderr(), "{text}");
}

/// Lines of these items.
pub(crate) fn lines<I: std::fmt::Display>(items: impl IntoIterator<Item = I>) -> String {
    items.into_iter().fold(String::new(), |mut text, item| {
        let _ = writeln!(text, "{item}");
        text
    })
}

/// The values at some pointers as the name of an object: `package/community/etcd`.
pub(crate) fn name(kind: &str, item: &Value, pointers: &[&str]) -> String {
    let parts = pointers.iter().map(|pointer| text(item, pointer));
    std::iter::once(kind.to_owned())
        .chain(parts)
        .collect::<Vec<_>>()
        .join("/")
}
