//! Output of the commands: objects of the API as tables and in the formats of kubectl.

use std::fmt::Write as _;
use std::io::{self, Write};

use printing::{ignore_closed_pipe, table, text, whole_table};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::jsonpath::JsonPathTemplate;
use crate::{CommandError, ExitStatus};

/// Version of the objects that are printed as JSON and YAML.
const API_VERSION: &str = "catalogql.io/v1alpha1";

/// Cell without a value, as kubectl prints it.
const NONE: &str = "<none>";

/// Hint in place of an empty table.
pub const NOTHING_FOUND: &str = "nothing found";

/// Header of the column that is in every table whose items are of several catalogs.
const CATALOG: &str = "CATALOG";

/// Format of the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OutputFormat {
    #[default]
    Table,
    /// Table with more columns.
    Wide,
    Json,
    Yaml,
    /// Names of the objects, one a line.
    Name,
    /// Text that a template makes of the JSON.
    JsonPath(JsonPathTemplate),
    /// One item a line; of `images`.
    Lines,
    /// Comment of a pull request; of `diff` and `upgrade-plan`.
    Markdown,
    /// Page; of `upgrade-plan`.
    Html,
    /// Mermaid source; of `graph` and `solve`.
    Mermaid,
    /// Graphviz source; of `graph`.
    Dot,
    /// Picture; of `graph`.
    Svg,
    /// Picture of letters; of `graph`.
    Lanes,
}

/// Column of a table of items of one type.
pub struct TableColumn<T = Value> {
    header: &'static str,
    is_wide: bool,
    value: fn(&T) -> String,
}

/// Objects of one kind, and how they are shown.
pub struct ObjectList<T: 'static = Value> {
    /// Kind of an item, such as `Package`.
    pub kind: &'static str,
    /// Columns of the table.
    pub columns: &'static [TableColumn<T>],
    /// Returns the name of an item for `-o name`.
    pub name: fn(&T) -> String,
    /// The objects.
    pub items: Vec<T>,
}

/// Makes a column of every table.
pub const fn column<T>(header: &'static str, value: fn(&T) -> String) -> TableColumn<T> {
    TableColumn {
        header,
        is_wide: false,
        value,
    }
}

/// Makes a column of `-o wide`.
pub const fn wide<T>(header: &'static str, value: fn(&T) -> String) -> TableColumn<T> {
    TableColumn {
        header,
        is_wide: true,
        value,
    }
}

/// Returns `true` or `false` for a value at a JSON pointer: a column such as DEPRECATED.
pub fn is_set(item: &Value, pointer: &str) -> String {
    let is_set = item.pointer(pointer).is_some_and(|value| !value.is_null());
    is_set.to_string()
}

/// Parses the value of `-o`.
pub fn parse_output(text: &str) -> Result<OutputFormat, String> {
    if let Some(template) = text.strip_prefix("jsonpath=") {
        return JsonPathTemplate::parse(template).map(OutputFormat::JsonPath);
    }
    Ok(match text {
        "table" => OutputFormat::Table,
        "wide" => OutputFormat::Wide,
        "json" => OutputFormat::Json,
        "yaml" => OutputFormat::Yaml,
        "name" => OutputFormat::Name,
        "lines" => OutputFormat::Lines,
        "markdown" => OutputFormat::Markdown,
        "html" => OutputFormat::Html,
        "mermaid" => OutputFormat::Mermaid,
        "dot" => OutputFormat::Dot,
        "svg" => OutputFormat::Svg,
        "lanes" => OutputFormat::Lanes,
        _ => {
            let formats = "write table, wide, json, yaml, name or jsonpath=TEMPLATE; for `diff` and `upgrade-plan` also \
                           markdown, for `upgrade-plan` html, for `images` lines, for `graph` lanes, mermaid, dot or svg, for `solve` mermaid";
            return Err(formats.to_owned());
        }
    })
}

impl<T: Serialize> ObjectList<T> {
    /// Prints the items.
    pub fn print(&self, output: &OutputFormat, has_headers: bool) -> Result<(), CommandError> {
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
                let cell = |item: &T, column: &TableColumn<T>| {
                    let value = (column.value)(item);
                    if value.is_empty() {
                        NONE.to_owned()
                    } else {
                        value
                    }
                };
                let row = |item: &T| {
                    columns
                        .iter()
                        .map(|column| cell(item, column))
                        .collect::<Vec<_>>()
                };
                let rows = self.items.iter().map(row);
                // `-o wide` asks for the whole values: they are not cut to the terminal.
                print(&if *output == OutputFormat::Wide {
                    whole_table(header, rows)
                } else {
                    table(header, rows)
                })
            }
            OutputFormat::Name => print(&lines(self.items.iter().map(self.name))),
            _ => {
                // The envelope of Kubernetes' lists, so that scripts for kubectl read it.
                let list = json!({
                    "apiVersion": API_VERSION, "kind": format!("{}List", self.kind), "items": self.items,
                });
                print_value(&list, output)
            }
        }
    }

    /// The columns of a table; that of the catalog also without `-o wide` if the items are of
    /// several.
    fn shown_columns(&self, is_wide: bool) -> Vec<&'static TableColumn<T>> {
        let has_several = |column: &TableColumn<T>| {
            let mut values = self
                .items
                .iter()
                .map(column.value)
                .filter(|value| !value.is_empty());
            values
                .next()
                .is_some_and(|first| values.any(|value| value != first))
        };
        let is_shown = |column: &&'static TableColumn<T>| {
            !column.is_wide || is_wide || (column.header == CATALOG && has_several(column))
        };
        self.columns.iter().filter(is_shown).collect()
    }
}

/// Prints an object of the API.
pub fn print_object(kind: &str, object: &Value, output: &OutputFormat) -> Result<(), CommandError> {
    let mut all = Map::from_iter([
        ("apiVersion".to_owned(), json!(API_VERSION)),
        ("kind".to_owned(), json!(kind)),
    ]);
    all.extend(object.as_object().cloned().unwrap_or_default());
    print_value(&Value::Object(all), output)
}

/// Returns `true` for the formats for programs that every command has.
pub fn is_structured(output: &OutputFormat) -> bool {
    matches!(
        output,
        OutputFormat::Json | OutputFormat::Yaml | OutputFormat::JsonPath(_)
    )
}

/// Prints a value as JSON, as YAML or by a template. Fails for other formats.
pub fn print_value(value: &Value, output: &OutputFormat) -> Result<(), CommandError> {
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

/// Returns the value as YAML.
pub fn yaml(value: &Value) -> String {
    let text = serde_saphyr::to_string(value).expect("JSON is YAML");
    if text.ends_with('\n') {
        text
    } else {
        text + "\n"
    }
}

/// Prints text to the standard output.
pub fn print(text: &str) -> Result<(), CommandError> {
    print_while_read(text).map(drop)
}

/// Prints text to the standard output; returns `false` if its reader is gone.
pub fn print_while_read(text: &str) -> Result<bool, CommandError> {
    match printing::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        printed => Ok(printed.map(|()| true)?),
    }
}

/// Prints a note for the user, which is no data, to the standard error output.
pub fn hint(text: &str) {
    // Nothing is left to do if it cannot be printed.
    let _ = writeln!(printing::stderr(), "{text}");
}

/// Returns the items, one a line.
pub fn lines<I: std::fmt::Display>(items: impl IntoIterator<Item = I>) -> String {
    items.into_iter().fold(String::new(), |mut text, item| {
        let _ = writeln!(text, "{item}");
        text
    })
}

/// Joins the values at JSON pointers to the name of an object: `package/community/etcd`.
pub fn name(kind: &str, item: &Value, pointers: &[&str]) -> String {
    let parts = pointers.iter().map(|pointer| text(item, pointer));
    std::iter::once(kind.to_owned())
        .chain(parts)
        .collect::<Vec<_>>()
        .join("/")
}
