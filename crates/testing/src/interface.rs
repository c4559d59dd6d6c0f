//! Snapshots of the public interface: the elements that users may rely on, one a line. `api/next`
//! has those of the working tree, and `api/VERSION` those of a release.
//!
//! An element is `KIND NAME` or `KIND NAME: SHAPE`, and a shape may end with `= DEFAULT`. Names of
//! members begin with the name of what they belong to, followed by `.`, `(`, `/` or a space.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;

/// Mark at the end of a shape: the element is deprecated.
const DEPRECATED: &str = " (deprecated)";

/// Elements of one file, by kind and name, with their shapes.
type Elements = BTreeMap<String, String>;

/// Asserts that the elements of a file in `api/next` are these, or with `UPDATE_EXPECT=1` writes
/// them. Asserts that the changelog names everything in which they differ from the last release.
///
/// # Panics
///
/// If the file is out of date, or a change is not in the changelog.
#[track_caller]
pub fn check(file: &str, elements: &BTreeSet<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut text = String::new();
    for element in elements {
        text.push_str(element);
        text.push('\n');
    }

    let next = root.join("api/next").join(file);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&next, &text).expect("the snapshot can be written");
    }
    let stored = fs::read_to_string(&next).unwrap_or_default();
    let difference = differences(&parse(&stored), &parse(&text));
    assert!(
        stored == text,
        "api/next/{file} differs from the program, run UPDATE_EXPECT=1 cargo test -- interface:\n{}",
        difference.join("\n")
    );

    let Some(release) = last_release(&root.join("api")) else {
        return;
    };
    let released = fs::read_to_string(release.folder.join(file)).unwrap_or_default();
    let changelog = fs::read_to_string(root.join("CHANGELOG.md")).expect("there is a changelog");
    let missing = changes_to_mention(
        &released,
        &text,
        newest_section(&changelog),
        release.version.major > 0,
    );
    assert!(
        missing.is_empty(),
        "{file} differs from {}:\n{}",
        release.folder.display(),
        missing.join("\n")
    );
}

/// Returns the elements of a command line: commands, flags, arguments and the values of flags.
/// Hidden ones are none.
pub fn command_elements(command: &Command) -> BTreeSet<String> {
    let mut elements = BTreeSet::new();
    add_command(command, command.get_name(), &mut elements);
    elements
}

fn add_command(command: &Command, name: &str, elements: &mut BTreeSet<String>) {
    elements.insert(format!("command {name}"));
    for alias in command.get_visible_aliases() {
        elements.insert(format!("alias {name} = {alias}"));
    }
    for argument in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let values = argument.get_value_names().unwrap_or_default().join(" ");
        let defaults: Vec<_> = argument
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy())
            .collect();
        let mut shape = String::new();
        if argument.get_action().takes_values() {
            shape = format!(": {values}");
        }
        if !defaults.is_empty() {
            shape.push_str(" = ");
            shape.push_str(&defaults.join(","));
        }

        let Some(long) = argument.get_long() else {
            elements.insert(format!("argument {name} {}{shape}", argument.get_id()));
            continue;
        };
        elements.insert(format!("flag {name} --{long}{shape}"));
        if let Some(short) = argument.get_short() {
            elements.insert(format!("flag {name} --{long} -{short}"));
        }
        for value in argument.get_possible_values() {
            if argument.get_action().takes_values() && !value.is_hide_set() {
                elements.insert(format!("value {name} --{long} {}", value.get_name()));
            }
        }
    }
    for subcommand in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = format!("{name} {}", subcommand.get_name());
        add_command(subcommand, &name, elements);
    }
}

/// A released version. Versions are ordered by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReleaseNumber {
    major: u64,
    minor: u64,
    patch: u64,
}

impl ReleaseNumber {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        let number = Self {
            major: numbers.next()??,
            minor: numbers.next()??,
            patch: numbers.next()??,
        };
        numbers.next().is_none().then_some(number)
    }
}

/// The snapshot of a release.
struct ReleaseSnapshot {
    version: ReleaseNumber,
    folder: PathBuf,
}

/// Returns the snapshot of the last release; `None` before the first one.
fn last_release(folder: &Path) -> Option<ReleaseSnapshot> {
    let entries = fs::read_dir(folder).expect("there is a folder of snapshots");
    let releases = entries.filter_map(|entry| {
        let folder = entry.expect("the folder can be read").path();
        let version = ReleaseNumber::parse(folder.file_name()?.to_str()?)?;
        Some(ReleaseSnapshot { version, folder })
    });
    releases.max_by_key(|release| release.version)
}

/// Returns the first section of a changelog: that of the next release.
fn newest_section(changelog: &str) -> &str {
    let section = changelog
        .split_once("\n## ")
        .map_or("", |(_, sections)| sections);
    section
        .split_once("\n## ")
        .map_or(section, |(newest, _)| newest)
}

fn parse(text: &str) -> Elements {
    let lines = text.lines().map(|line| {
        let (name, shape) = line.split_once(": ").unwrap_or((line, ""));
        (name.to_owned(), shape.to_owned())
    });
    lines.collect()
}

/// Describes how elements differ, one difference a line.
fn differences(before: &Elements, after: &Elements) -> Vec<String> {
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    let mut all: Vec<_> = removed.map(|name| format!("- {name}")).collect();
    for (name, shape) in after {
        match before.get(name) {
            None => all.push(format!("+ {name}: {shape}")),
            Some(former) if former != shape => all.push(format!("! {name}: {former} → {shape}")),
            Some(_) => {}
        }
    }
    all
}

/// Describes the changes that a changelog does not mention, and those that break clients of a stable
/// interface: an element that was removed without a deprecation, and a new input that is required.
fn changes_to_mention(before: &str, after: &str, changelog: &str, is_stable: bool) -> Vec<String> {
    let before = parse(before);
    let after = parse(after);
    let mut missing = Vec::new();

    for (element, shape) in &before {
        if after.contains_key(element) {
            continue;
        }
        if is_stable && !shape.ends_with(DEPRECATED) {
            missing.push(format!(
                "{element} was removed, and the last release did not deprecate it"
            ));
        } else if !mentions(changelog, name_of(element)) {
            missing.push(format!(
                "{element} was removed, and CHANGELOG.md does not name `{}`",
                name_of(element)
            ));
        }
    }

    for (element, shape) in &after {
        let Some(former) = before.get(element) else {
            let parent = parent_of(element, &before, &after);
            if is_required_input(element, shape) && parent.is_some_and(|parent| parent.is_released)
            {
                missing.push(format!(
                    "{element} is required, which breaks clients of the last release"
                ));
            } else if !is_mentioned(element, changelog, &before, &after) {
                missing.push(format!(
                    "{element} is new, and CHANGELOG.md does not name `{}`",
                    name_of(element)
                ));
            }
            continue;
        };
        if is_stable && stable_part(former) != stable_part(shape) {
            missing.push(format!("{element} changed from `{former}` to `{shape}`"));
        } else if former != shape && !mentions(changelog, name_of(element)) {
            missing.push(format!(
                "{element} changed from `{former}` to `{shape}`, and CHANGELOG.md does not name `{}`",
                name_of(element)
            ));
        }
    }
    missing
}

/// Returns the part of a shape that a stable interface keeps. Defaults may change, and elements may
/// become deprecated.
fn stable_part(shape: &str) -> &str {
    let shape = shape.trim_end_matches(DEPRECATED);
    shape
        .split_once("= ")
        .map_or(shape, |(without_default, _)| without_default)
        .trim_end()
}

/// Returns the name of an element without its kind.
fn name_of(element: &str) -> &str {
    element.split_once(' ').map_or(element, |(_, name)| name)
}

/// Returns whether a text names something in backticks: in full or, for what belongs to a command,
/// by the last word.
fn mentions(text: &str, name: &str) -> bool {
    let last_word = name.rsplit(' ').next().unwrap_or(name);
    text.contains(&format!("`{name}`")) || text.contains(&format!("`{last_word}`"))
}

/// The element that another one belongs to.
struct Parent<'a> {
    element: &'a str,
    is_released: bool,
}

/// Returns the element that another one belongs to: the one with the longest name that its name
/// begins with.
fn parent_of<'a>(element: &str, before: &Elements, after: &'a Elements) -> Option<Parent<'a>> {
    let name = name_of(element);
    let candidates = after.keys().filter(|candidate| {
        name.strip_prefix(name_of(candidate))
            .is_some_and(|rest| rest.starts_with(['.', '(', '/', ' ']))
    });
    let element = candidates.max_by_key(|candidate| name_of(candidate).len())?;
    Some(Parent {
        element,
        is_released: before.contains_key(element),
    })
}

/// Returns whether a changelog names a new element, or a new one that it belongs to.
fn is_mentioned(element: &str, changelog: &str, before: &Elements, after: &Elements) -> bool {
    if mentions(changelog, name_of(element)) {
        return true;
    }
    match parent_of(element, before, after) {
        Some(parent) if !parent.is_released => {
            is_mentioned(parent.element, changelog, before, after)
        }
        _ => false,
    }
}

/// Returns whether clients must give a value: for an argument or input field that is not null and
/// has no default.
fn is_required_input(element: &str, shape: &str) -> bool {
    element.starts_with("input ") && shape.ends_with('!')
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASED: &str = "\
flag catalogql serve --poll: DURATION = 10m
field Package.icon: Icon
field Package.url: String (deprecated)
input Query.packages(first): Int = 50
field Query.packages: PackageConnection!
type Query: object
";

    fn missing(after: &str, changelog: &str) -> Vec<String> {
        changes_to_mention(RELEASED, after, changelog, false)
    }

    #[test]
    fn an_equal_interface_needs_no_line_in_the_changelog() {
        assert_eq!(missing(RELEASED, ""), Vec::<String>::new());
    }

    #[test]
    fn what_is_removed_is_named_in_the_changelog() {
        let after = RELEASED.replace("field Package.icon: Icon\n", "");
        assert_eq!(
            missing(&after, "`Package.icons` is new."),
            ["field Package.icon was removed, and CHANGELOG.md does not name `Package.icon`"]
        );
        assert_eq!(
            missing(&after, "`Package.icon` is gone."),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_stable_interface_removes_only_what_the_last_release_deprecated() {
        let without_icon = RELEASED.replace("field Package.icon: Icon\n", "");
        let without_url = RELEASED.replace("field Package.url: String (deprecated)\n", "");
        let changelog = "`Package.icon` and `Package.url` are gone.";

        assert_eq!(
            changes_to_mention(RELEASED, &without_icon, changelog, true),
            ["field Package.icon was removed, and the last release did not deprecate it"]
        );
        assert_eq!(
            changes_to_mention(RELEASED, &without_url, changelog, true),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_changed_default_is_named_in_the_changelog() {
        let after = RELEASED.replace("= 10m", "= 5m");
        assert_eq!(
            missing(&after, ""),
            [
                "flag catalogql serve --poll changed from `DURATION = 10m` to `DURATION = 5m`, and \
              CHANGELOG.md does not name `catalogql serve --poll`"
            ]
        );
        let changelog = "The default of `--poll` is five minutes.";
        assert_eq!(
            changes_to_mention(RELEASED, &after, changelog, true),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_stable_interface_changes_no_type() {
        let after = RELEASED.replace("icon: Icon", "icon: Image");
        assert_eq!(missing(&after, "`Package.icon`"), Vec::<String>::new());
        assert_eq!(
            changes_to_mention(RELEASED, &after, "`Package.icon`", true),
            ["field Package.icon changed from `Icon` to `Image`"]
        );
    }

    #[test]
    fn a_deprecation_is_no_change_that_breaks_clients() {
        let after = RELEASED.replace("icon: Icon", "icon: Icon (deprecated)");
        assert_eq!(
            changes_to_mention(RELEASED, &after, "`Package.icon` is deprecated.", true),
            Vec::<String>::new()
        );
        assert_eq!(missing(&after, "").len(), 1);
    }

    #[test]
    fn a_new_element_is_named_itself_or_with_the_new_one_that_it_belongs_to() {
        let after = format!("{RELEASED}type Change: object\nfield Change.at: String!\n");
        assert_eq!(missing(&after, "`Change` is new."), Vec::<String>::new());
        assert_eq!(
            missing(&after, ""),
            [
                "field Change.at is new, and CHANGELOG.md does not name `Change.at`",
                "type Change is new, and CHANGELOG.md does not name `Change`",
            ]
        );

        let after = format!("{RELEASED}field Query.changes: [String!]\n");
        assert_eq!(
            missing(&after, "`Query` has more fields.").len(),
            1,
            "the type was there before"
        );
    }

    #[test]
    fn a_required_input_of_what_was_released_breaks_clients() {
        let after = format!("{RELEASED}input Query.packages(after): String!\n");
        assert_eq!(
            missing(&after, "`Query.packages(after)`"),
            ["input Query.packages(after) is required, which breaks clients of the last release"]
        );

        let with_default = format!("{RELEASED}input Query.packages(after): String! = \"\"\n");
        assert_eq!(
            missing(&with_default, "`Query.packages(after)`"),
            Vec::<String>::new()
        );
        let of_new = format!("{RELEASED}field Query.x: Int\ninput Query.x(id): ID!\n");
        assert_eq!(missing(&of_new, "`Query.x`"), Vec::<String>::new());
    }

    #[test]
    fn the_last_release_is_the_one_with_the_highest_number() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(last_release(folder.path()).is_none());
        for name in ["next", "0.9.0", "0.10.0", "0.10", "README.md"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let release = last_release(folder.path()).expect("there are releases");
        assert_eq!(release.folder, folder.path().join("0.10.0"));
    }

    #[test]
    fn the_newest_section_of_a_changelog_is_its_first_one() {
        let changelog = "# Changes\n\n## Unreleased\n\nNew: `a`.\n\n## 0.1.0\n\nNew: `b`.\n";
        assert_eq!(newest_section(changelog), "Unreleased\n\nNew: `a`.\n");
    }

    #[test]
    fn hidden_flags_and_commands_are_no_elements() {
        let command = Command::new("tool")
            .arg(
                clap::Arg::new("output")
                    .long("output")
                    .short('o')
                    .value_name("FORMAT")
                    .value_parser(["json", "table"])
                    .default_value("table"),
            )
            .arg(clap::Arg::new("debug").long("debug").hide(true))
            .subcommand(Command::new("list").arg(clap::Arg::new("SOURCE").value_name("SOURCE")))
            .subcommand(Command::new("internal").hide(true));
        let expected = [
            "argument tool list SOURCE: SOURCE",
            "command tool",
            "command tool list",
            "flag tool --output -o",
            "flag tool --output: FORMAT = table",
            "value tool --output json",
            "value tool --output table",
        ];
        assert_eq!(
            command_elements(&command),
            expected.map(str::to_owned).into_iter().collect()
        );
    }
}
