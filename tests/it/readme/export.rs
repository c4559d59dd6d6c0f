//! The tables of an export, as the reference lists them.

use std::fmt::Write as _;

use export::ExportTable;

use super::holds;

/// Heading of the part of the page that is generated.
const HEADING: &str = "\n## Tables\n";

#[test]
fn the_tables_in_the_reference_are_those_of_an_export() {
    holds("docs/reference/export.md", |text| {
        let (head, _) = text.split_once(HEADING).expect("the page lists the tables");
        format!("{head}{HEADING}{}", tables())
    });
}

fn tables() -> String {
    let mut text = String::new();
    let written = ExportTable::ALL
        .iter()
        .try_for_each(|&table| write_table(&mut text, table));
    written.expect("a string takes all text");
    text
}

fn write_table(text: &mut String, table: ExportTable) -> std::fmt::Result {
    writeln!(text, "\n### {}\n", table.name())?;
    writeln!(text, "{}\n", table.description())?;
    writeln!(text, "| column | type | value |\n|---|---|---|")?;
    for column in table.columns() {
        let null = if column.is_optional { " or null" } else { "" };
        writeln!(
            text,
            "| `{}` | {}{null} | {} |",
            column.name, column.column_type, column.description
        )?;
    }
    Ok(())
}
