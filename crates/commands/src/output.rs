//! Output of the commands: objects of the API as tables and in the formats of kubectl.

use std::any::TypeId;
use std::fmt::Write as _;
use std::io::{self, Write};

use clap::{Arg, Command};
use printing::{ignore_closed_pipe, table, text, whole_table};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::jsonpath::{JsonPath, JsonPathTemplate};
use crate::sorting::{ListOrder, SortValue};
use crate::{CommandError, ExitStatus};

/// Version of the objects that are printed as JSON and YAML.
const API_VERSION: &str = "catalogql.io/v1alpha1";

/// Cell without a value, as kubectl prints it.
pub(crate) const NONE: &str = "<none>";

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
    /// Table of fields of the JSON.
    CustomColumns(CustomColumns),
    /// One item a line; of `images`, `upgrade-plan` and `mirror`.
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
    /// The `mapping.txt` of oc-mirror; of `mirror`.
    Mapping,
    /// An `ImageSetConfiguration` with which oc-mirror selects the same; of `mirror`.
    Imageset,
    /// A command of skopeo for each image; of `mirror`.
    Skopeo,
    /// `ImageDigestMirrorSet` and `ImageTagMirrorSet`; of `mirror`.
    Idms,
}

/// Table of `-o custom-columns=`: headers, each with the path of its cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomColumns {
    columns: Vec<(String, JsonPath)>,
    /// `false` prints the table without its headers.
    pub has_headers: bool,
}

/// Column of a table of items of one type.
#[derive(Clone)]
pub struct TableColumn<T = Value> {
    header: &'static str,
    is_wide: bool,
    value: fn(&T) -> String,
}

/// Objects of one kind, and how they are shown.
pub struct ObjectList<T = Value> {
    /// Kind of an item, such as `Package`.
    pub kind: &'static str,
    /// Columns of the table.
    pub columns: Vec<TableColumn<T>>,
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

/// Returns columns with one more, before those of `-o wide`.
pub fn with_column(columns: &[TableColumn], added: TableColumn) -> Vec<TableColumn> {
    let mut columns = columns.to_vec();
    let at = columns.iter().take_while(|column| !column.is_wide).count();
    columns.insert(at, added);
    columns
}

/// Returns `true` or `false` for a value at a JSON pointer: a column such as DEPRECATED.
pub fn is_set(item: &Value, pointer: &str) -> String {
    let is_set = item.pointer(pointer).is_some_and(|value| !value.is_null());
    is_set.to_string()
}

/// Returns the phase of support of a `VersionLifecycle` with its last day; `none` outside all phases,
/// and nothing if the catalog has no life cycle: a column SUPPORT.
pub fn support_phase(lifecycle: &Value) -> String {
    let phase = text(lifecycle, "/phase/name");
    let end = text(lifecycle, "/phase/endDate");
    match (phase.is_empty(), end.is_empty(), lifecycle.is_null()) {
        (false, false, _) => format!("{phase} until {end}"),
        (false, true, _) => phase,
        (true, _, false) => "none".to_owned(),
        (true, _, true) => String::new(),
    }
}

/// Formats that only some commands have.
const COMMAND_FORMATS: [(&str, &[&str]); 6] = [
    ("diff", &["markdown"]),
    ("graph", &["lanes", "mermaid", "dot", "svg"]),
    ("images", &["lines"]),
    (
        "mirror",
        &["lines", "mapping", "imageset", "skopeo", "idms"],
    ),
    ("solve", &["mermaid"]),
    ("upgrade-plan", &["markdown", "html", "lines"]),
];

/// Formats that every command has.
const SHARED_FORMATS: &str =
    "table, wide, json, yaml, name, jsonpath=TEMPLATE, custom-columns=HEADER:PATH,…";

/// Name of the flag of [`OutputArgs`](crate::args::OutputArgs).
const OUTPUT: &str = "output";

/// Gives the flag `--output` of each command of a program the formats that the command has, in its
/// help and in its errors.
pub fn with_command_formats(program: Command) -> Command {
    let shared = program.get_arguments().find(|arg| is_output(arg)).cloned();
    program.mut_subcommands(|command| {
        let name = command.get_name();
        let own = COMMAND_FORMATS.iter().find(|(other, _)| *other == name);
        let own = own.map_or(&[][..], |(_, formats)| formats);
        set_formats(command, shared.as_ref(), own)
    })
}

fn set_formats(command: Command, shared: Option<&Arg>, own: &'static [&'static str]) -> Command {
    let flag = |arg: Arg| {
        arg.help(format!("Output format: {}", formats(own)))
            .value_parser(move |text: &str| parse_command_output(text, own))
    };
    let has_flag = command.get_arguments().any(is_output);
    let command = match shared {
        _ if has_flag => command.mut_arg(OUTPUT, flag),
        Some(shared) => command.arg(flag(shared.clone())),
        None => command,
    };
    command.mut_subcommands(|below| set_formats(below, shared, own))
}

fn is_output(arg: &Arg) -> bool {
    *arg.get_id() == OUTPUT && arg.get_value_parser().type_id() == TypeId::of::<OutputFormat>()
}

/// Returns the formats of a command with these of its own.
fn formats(own: &[&str]) -> String {
    match own {
        [] => SHARED_FORMATS.to_owned(),
        own => format!("{SHARED_FORMATS}, {}", own.join(", ")),
    }
}

/// Parses the value of `-o` of a command with these formats of its own.
fn parse_command_output(text: &str, own: &[&str]) -> Result<OutputFormat, String> {
    let mut others = COMMAND_FORMATS.iter().flat_map(|(_, formats)| *formats);
    let is_foreign = others.any(|format| *format == text) && !own.contains(&text);
    let format = if is_foreign { None } else { read_output(text)? };
    format.ok_or_else(|| format!("write {}", formats(own)))
}

/// Parses the value of `-o` of any command.
pub fn parse_output(text: &str) -> Result<OutputFormat, String> {
    read_output(text)?.ok_or_else(|| {
        format!("write {SHARED_FORMATS}, or a format that --help of the command names")
    })
}

/// Reads the value of `-o`; `None` for a text that is no format.
fn read_output(text: &str) -> Result<Option<OutputFormat>, String> {
    if let Some(template) = text.strip_prefix("jsonpath=") {
        return Ok(Some(OutputFormat::JsonPath(JsonPathTemplate::parse(
            template,
        )?)));
    }
    if let Some(columns) = text.strip_prefix("custom-columns=") {
        return Ok(Some(OutputFormat::CustomColumns(CustomColumns::parse(
            columns,
        )?)));
    }
    Ok(match text {
        "table" => Some(OutputFormat::Table),
        "wide" => Some(OutputFormat::Wide),
        "json" => Some(OutputFormat::Json),
        "yaml" => Some(OutputFormat::Yaml),
        "name" => Some(OutputFormat::Name),
        "lines" => Some(OutputFormat::Lines),
        "markdown" => Some(OutputFormat::Markdown),
        "html" => Some(OutputFormat::Html),
        "mermaid" => Some(OutputFormat::Mermaid),
        "dot" => Some(OutputFormat::Dot),
        "svg" => Some(OutputFormat::Svg),
        "lanes" => Some(OutputFormat::Lanes),
        "mapping" => Some(OutputFormat::Mapping),
        "imageset" => Some(OutputFormat::Imageset),
        "skopeo" => Some(OutputFormat::Skopeo),
        "idms" => Some(OutputFormat::Idms),
        _ => None,
    })
}

impl CustomColumns {
    /// Parses `HEADER:PATH,…`; the message says what is wrong.
    fn parse(text: &str) -> Result<Self, String> {
        let column = |part: &str| {
            let (header, path) = part
                .split_once(':')
                .filter(|(header, path)| !header.is_empty() && !path.is_empty())
                .ok_or(
                    "write HEADER:PATH for each column, such as NAME:.name,VERSION:.latest.version",
                )?;
            Ok((header.to_owned(), JsonPath::parse(path)?))
        };
        let columns: Result<_, String> = split_columns(text).into_iter().map(column).collect();
        Ok(Self {
            columns: columns?,
            has_headers: true,
        })
    }

    /// Returns the table of the items of a list, or of a single object.
    fn table(&self, value: &Value) -> String {
        let items = match &value["items"] {
            Value::Array(items) => &items[..],
            _ => std::slice::from_ref(value),
        };
        let header = self.columns.iter().map(|(header, _)| header.as_str());
        let rows = items.iter().map(|item| {
            self.columns
                .iter()
                .map(move |(_, path)| or_none(path.text(item)))
        });
        whole_table(header.filter(|_| self.has_headers), rows)
    }
}

/// Splits columns at their commas. Those in brackets belong to a path.
fn split_columns(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|letter| {
        match letter {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .collect()
}

/// Returns the text of a cell; that of an empty one as kubectl prints it.
pub(crate) fn or_none(value: String) -> String {
    if value.is_empty() {
        NONE.to_owned()
    } else {
        value
    }
}

impl ObjectList {
    /// Sorts the items by a column, or else by a field of some of them.
    pub(crate) fn sort(&mut self, key: &ListOrder) -> Result<(), CommandError> {
        let written = key.written();
        let column = self
            .columns
            .iter()
            .find(|column| column.header.eq_ignore_ascii_case(written));
        if let Some(column) = column {
            let value = |item: &Value| SortValue::from_text((column.value)(item));
            self.items.sort_by(|a, b| value(a).order(&value(b)));
            return Ok(());
        }
        let has_field = |item: &Value| key.value(item) != SortValue::Missing;
        if !self.items.is_empty() && !self.items.iter().any(has_field) {
            let headers: Vec<_> = self.columns.iter().map(|column| column.header).collect();
            let message = format!(
                "cannot sort by `{written}`: it is no column, and no object has this field"
            );
            let error = CommandError::new(ExitStatus::Usage, message);
            return Err(error.hint(format!("the columns are {}", headers.join(", "))));
        }
        self.items.sort_by(|a, b| key.value(a).order(&key.value(b)));
        Ok(())
    }

    /// Returns the rows of the table of some items, aligned with all others.
    pub fn rows_of(&self, output: &OutputFormat, is_printed: impl Fn(&Value) -> bool) -> String {
        let columns = self.shown_columns(*output == OutputFormat::Wide);
        let rows = self.items.iter().map(|item| {
            let cells = columns.iter().map(|column| or_none((column.value)(item)));
            cells.collect::<Vec<_>>()
        });
        // The header is part of the alignment, and no row.
        let table = table(columns.iter().map(|column| column.header), rows);
        let rows = table.lines().skip(1).zip(&self.items);
        lines(
            rows.filter(|(_, item)| is_printed(item))
                .map(|(line, _)| line),
        )
    }
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
                let cell = |item: &T, column: &TableColumn<T>| or_none((column.value)(item));
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
    fn shown_columns(&self, is_wide: bool) -> Vec<&TableColumn<T>> {
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
        let is_shown = |column: &&TableColumn<T>| {
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
        OutputFormat::Json
            | OutputFormat::Yaml
            | OutputFormat::JsonPath(_)
            | OutputFormat::CustomColumns(_)
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
        OutputFormat::CustomColumns(columns) => print(&columns.table(value)),
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

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;
    use crate::args::OutputArgs;

    #[test]
    fn each_command_takes_and_names_its_own_formats() {
        let command = |name| OutputArgs::augment_args(Command::new(name));
        let programs = [
            Command::new("of-each").subcommands([command("diff"), command("get")]),
            OutputArgs::augment_args(Command::new("of-all"))
                .subcommands([Command::new("diff"), Command::new("get")]),
        ];
        let of_get =
            "table, wide, json, yaml, name, jsonpath=TEMPLATE, custom-columns=HEADER:PATH,…";
        let of_diff = format!("{of_get}, markdown");
        for program in programs.map(with_command_formats) {
            let parsed = |line: &str| {
                let matches = program.clone().try_get_matches_from(line.split(' '));
                matches.map(drop).map_err(|error| {
                    let text = error.to_string();
                    let message = text.lines().next().unwrap_or_default();
                    message.rsplit(": ").next().unwrap_or_default().to_owned()
                })
            };
            assert_eq!(parsed("x diff -o markdown"), Ok(()));
            assert_eq!(parsed("x diff -o name"), Ok(()));
            assert_eq!(parsed("x get -o markdown"), Err(format!("write {of_get}")));
            for format in ["png", "lanes"] {
                let line = format!("x diff -o {format}");
                assert_eq!(parsed(&line), Err(format!("write {of_diff}")));
            }
            for (name, formats) in [("diff", of_diff.as_str()), ("get", of_get)] {
                let help = program.find_subcommand(name).expect("it is a command");
                let help = help.clone().render_help().to_string();
                let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
                let expected = format!("Output format: {formats} ");
                assert!(help.contains(&expected), "{help}");
            }
        }
    }
}
