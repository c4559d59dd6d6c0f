//! What the documentation says is true: the answers in the README, the table of problems, the
//! limits, the flags.

mod edits;
mod export;
mod limits;
mod schema;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use catalogql::args::Args;
use clap::CommandFactory;
use commands::output::with_command_formats;
use graphql::limits::{LimitUnit, Limits, ListedLimit};
use graphql::{Engine, Request};
use metrics::Label as _;

use crate::json::Json;
use crate::served;
use crate::support::run;

/// The command that makes the documents true again.
const REWRITE: &str = "UPDATE_EXPECT=1 cargo test --test it readme";

#[test]
fn the_answers_in_the_readme_are_what_the_example_gives() {
    let engine = served::engine([served::directory("example", "examples/catalog")]);
    let mut queries = 0;
    holds("README.md", |text| {
        rewrite_blocks(text, "graphql", "json", |query, _| {
            queries += 1;
            answer(&engine, query)
        })
    });
    assert_eq!(queries, 2, "queries in the README");
}

#[test]
fn the_answers_in_the_how_to_pages_are_what_the_example_gives() {
    let engine = served::engine([served::directory("example", "examples/catalog")]);
    for page in [
        "ask-with-graphql",
        "console-tiles",
        "find-providers",
        "mirror-images",
        "plan-an-upgrade",
        "watch-changes",
    ] {
        let mut answers = 0;
        holds(&format!("docs/how-to/{page}.md"), |text| {
            rewrite_blocks(text, "graphql", "json", |query, _| {
                answers += 1;
                answer(&engine, query)
            })
        });
        assert!(
            answers > 0,
            "docs/how-to/{page}.md has no query with its answer"
        );
    }
}

#[test]
fn the_figures_in_the_readme_are_those_of_the_comparison_with_catalogd() {
    let comparison = read("docs/how-to/from-catalogd.md");
    let sections: Vec<_> = comparison
        .split("\n## ")
        .filter_map(|section| section.split_once('\n'))
        .map(|(title, section)| (title.to_lowercase().replace(' ', "-"), section))
        .collect();
    let text = read("README.md");
    let mut compared = 0;
    for cells in rows(&text) {
        let Some((_, anchor)) = cells[0].split_once("](docs/how-to/from-catalogd.md#") else {
            continue;
        };
        let (_, section) = sections
            .iter()
            .find(|(title, _)| anchor.strip_suffix(')') == Some(title))
            .unwrap_or_else(|| panic!("the comparison has no section {anchor}"));
        let measured: Vec<_> = rows(section)
            .skip(1)
            .flat_map(|row| [format!("{} bytes", row[1]), row[3].to_owned()])
            .collect();
        assert_eq!(cells[1..], measured, "{anchor}");
        compared += 1;
    }
    assert_eq!(compared, 3, "compared rows");
}

#[test]
fn every_problem_is_in_the_reference_with_its_severity() {
    let text = read("docs/reference/problems.md");
    let mut documented: Vec<_> = rows(&text)
        .map(|cells| (cells[0].trim_matches('`'), cells[1]))
        .collect();
    documented.retain(|(code, _)| *code != "code");
    let mut expected: Vec<_> = fbc_read::ProblemCode::ALL
        .iter()
        .map(|code| {
            let severity = match code.severity() {
                fbc_read::Severity::Error => "ERROR",
                fbc_read::Severity::Warning => "WARNING",
            };
            (code.as_str(), severity)
        })
        .collect();
    documented.sort_unstable();
    expected.sort_unstable();
    assert_eq!(documented, expected);
}

#[test]
fn every_limit_is_in_the_reference_with_its_value() {
    let text = read("docs/reference/limits.md");
    let documented: Vec<_> = rows(&text)
        .map(|cells| (cells[0], cells[1].replace(',', "")))
        .collect();
    for (name, value) in limits::limits() {
        assert!(
            documented.contains(&(name, value.clone())),
            "docs/reference/limits.md lacks the row | {name} | {value} |"
        );
    }
}

#[test]
fn the_flags_in_the_reference_are_those_of_the_program() {
    holds("docs/reference/configuration.md", |text| {
        rewrite_blocks(text, "sh", "text", |command, shown| {
            let words: Vec<_> = command.split_whitespace().collect();
            let ["catalogql", ref names @ .., "--help"] = words[..] else {
                return shown.to_owned();
            };
            let mut program = with_command_formats(Args::command()).term_width(100);
            program.build();
            let command = names.iter().fold(&mut program, |command, name| {
                let found = command.find_subcommand_mut(name);
                found.unwrap_or_else(|| panic!("no command `{name}`"))
            });
            command
                .render_long_help()
                .to_string()
                .lines()
                .map(str::trim_end)
                .collect::<Vec<_>>()
                .join("\n")
        })
    });
}

#[test]
fn the_commands_of_the_how_to_print_what_it_shows() {
    let mut commands = 0;
    // A shell reads them as it reads what a user writes.
    let program = Path::new(env!("CARGO_BIN_EXE_catalogql"))
        .parent()
        .expect("a program is in a folder");
    let path = format!(
        "{}:{}",
        program.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let pages = [
        "find-providers",
        "look-into-a-catalog",
        "mirror-a-catalog",
        "move-to-olm-v1",
        "plan-an-upgrade",
        "preview-an-install",
        "publish-a-catalog",
        "sources",
        "upgrade-the-platform",
    ]
    .map(|name| format!("docs/how-to/{name}.md"));
    for page in pages.into_iter().chain(["README.md".to_owned()]) {
        holds(&page, |text| {
            rewrite_blocks(text, "sh", "text", |command, _| {
                commands += 1;
                let mut shell = Command::new("sh");
                shell
                    .args(["-c", command])
                    .env("PATH", &path)
                    .current_dir(env!("CARGO_MANIFEST_DIR"));
                let output = run(&mut shell);
                (output.stdout + &output.stderr).trim_end().to_owned()
            })
        });
    }
    assert_eq!(commands, 38, "commands in the README and the how-to pages");
}

#[test]
fn every_invariant_has_its_test() {
    let text = read("ARCHITECTURE.md");
    let (_, table) = text
        .split_once("## Invariants")
        .expect("ARCHITECTURE.md has the invariants");
    let (table, _) = table.split_once("\n## ").expect("something follows them");
    let named: Vec<_> = rows(table)
        .skip(1)
        .map(|cells| cells[1].trim_matches('`'))
        .collect();
    assert!(named.len() >= 12, "{named:?}");
    let mut tests = String::new();
    for folder in ["src", "crates", "tests"] {
        read_rust(&path(folder), &mut tests);
    }
    let missing: Vec<_> = named
        .iter()
        .filter(|name| !tests.contains(&format!("fn {name}(")))
        .collect();
    assert!(
        missing.is_empty(),
        "ARCHITECTURE.md names tests that are not there: {missing:?}"
    );
}

/// The answer to a query, as the documents show it.
fn answer(engine: &Engine, query: &str) -> String {
    let answer = engine.execute(&Request {
        query: Some(query.into()),
        ..Request::default()
    });
    Json::read(std::str::from_utf8(&answer.body).expect("an answer is UTF-8")).pretty()
}

/// The name in the reference of a limit that the server tells.
fn row_name(name: &'static str) -> &'static str {
    match name {
        "default-page-size" => "default page size",
        "facet-values" => "facet values",
        "installed-packages" => "installed packages",
        "introspection-lists" => "introspection lists",
        "list-items" => "list items",
        "node-ids" => "node ids",
        "page-size" => "page size",
        "root-fields" => "root fields",
        "url" => "URL",
        other => other,
    }
}

fn row_value(limit: &ListedLimit) -> String {
    match limit.unit {
        LimitUnit::Milliseconds => format!("{} s", limit.value / 1_000),
        LimitUnit::Bytes | LimitUnit::Cost | LimitUnit::Count => limit.value.to_string(),
    }
}

#[test]
fn the_limits_that_the_server_tells_are_those_of_a_request_in_the_reference_with_code_and_flag() {
    let text = read("docs/reference/limits.md");
    let (_, section) = text
        .split_once("## Of a GraphQL request")
        .expect("they have a section");
    let program = Args::command();
    let serve = program
        .find_subcommand("serve")
        .expect("there is the command");
    let listed = Limits::default().list();
    assert!(listed.is_sorted_by_key(|limit| limit.name));
    for limit in &listed {
        let row = rows(section)
            .find(|cells| cells[0] == row_name(limit.name))
            .expect("it has a row");
        let code = limit.code.map_or("", |code| code.as_str());
        assert!(row[3].contains(code), "{row:?}");
        assert_eq!(limit.code.is_none(), row[3].is_empty(), "{row:?}");
        let flag = if limit.name == "time" {
            "max-seconds".to_owned()
        } else {
            format!("max-{}", limit.name)
        };
        let has_flag = serve
            .get_arguments()
            .any(|argument| argument.get_long() == Some(&flag));
        assert_eq!(has_flag, row[4] == format!("`--{flag}`"), "{row:?}");
    }
    // Those that wait, caches and unread responses are none of one request.
    let other = ["in flight", "small answer"];
    let (request, _) = section
        .split_once("\nBodies that are being read")
        .expect("others follow");
    let names = rows(request)
        .map(|cells| cells[0])
        .filter(|name| *name != "limit" && !name.starts_with('-'));
    let untold: Vec<_> = names
        .filter(|name| listed.iter().all(|limit| row_name(limit.name) != *name))
        .collect();
    assert_eq!(untold, other);
}

/// Asserts that rewriting changes nothing in a document, or with `UPDATE_EXPECT=1` rewrites it.
#[track_caller]
fn holds(document: &str, rewrite: impl FnOnce(&str) -> String) {
    let text = read(document);
    let rewritten = rewrite(&text);
    if rewritten != text && std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(path(document), rewritten).expect("the document can be written");
    } else {
        let (left, right): (Vec<_>, Vec<_>) = (text.lines().collect(), rewritten.lines().collect());
        let same = left
            .iter()
            .zip(&right)
            .take_while(|(left, right)| left == right)
            .count();
        let near = |lines: &[&str]| {
            lines[same..]
                .iter()
                .take(8)
                .fold(String::new(), |mut all, line| {
                    writeln!(all, "    {line}").expect("a string takes all text");
                    all
                })
        };
        assert!(
            rewritten == text,
            "{document} is not true any more from line {}; run {REWRITE}\n  it says\n{}  it should say\n{}",
            same + 1,
            near(&left),
            near(&right)
        );
    }
}

/// A text with each block of one language that follows a block of another, with blocks of no matter
/// which languages between them, replaced by what the block before it gives.
fn rewrite_blocks(
    text: &str,
    of: &str,
    into: &str,
    mut give: impl FnMut(&str, &str) -> String,
) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    let mut given: Option<String> = None;
    while let Some(line) = lines.next() {
        writeln!(out, "{line}").expect("a string takes all text");
        let Some(language) = line
            .strip_prefix("```")
            .filter(|language| !language.is_empty())
        else {
            continue;
        };
        let block: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
        let block = block.join("\n");
        let body = match given.take_if(|_| language == into) {
            Some(source) => give(&source, &block),
            None => block.clone(),
        };
        if language == of {
            given = Some(block);
        }
        writeln!(out, "{body}\n```").expect("a string takes all text");
    }
    out
}

/// The cells of every row of every table in a document, but for those that separate the head.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines()
        .filter(|line| line.starts_with('|') && !line.starts_with("|--"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

/// Adds every Rust file of a folder to a text.
fn read_rust(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            read_rust(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).expect("the file can be read"));
        }
    }
}

fn read(document: &str) -> String {
    let path = path(document);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn path(document: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(document)
}
