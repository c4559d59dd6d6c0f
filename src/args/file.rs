//! Flags from the configuration file. A member is a flag by its name in camel case, such as
//! `tlsCertFile`; the command line and the environment take precedence. The member `sources`, the
//! list of catalogs, is read elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::builder::ValueHint;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use fbc::similar::similar_names;
use fbc::work::Work;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::Spanned;

/// Name of the member with the list of catalogs.
const SOURCES: &str = "sources";

/// Flags that only the command line can set.
const NOT_IN_FILES: [&str; 4] = ["config", "help", "version", "editable"];

/// Members of a file, each with the position of its value.
type Members = BTreeMap<String, Spanned<Value>>;

/// Value of a member.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    One(Scalar),
    Many(Vec<Scalar>),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Bool(bool),
    Number(i64),
    Fraction(f64),
    Text(String),
}

/// Flags that a configuration file sets and neither the command line nor the environment overrides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFlags {
    /// Name of the subcommand of the flags; empty without a configuration file.
    subcommand: String,
    /// Flags by member name.
    by_member: BTreeMap<String, Vec<OsString>>,
}

impl FileFlags {
    /// Reads the configuration file that the command line of this process names, in its current
    /// version.
    pub fn read_again() -> Result<Self, clap::Error> {
        Self::read(
            &super::Args::with_variables(),
            &std::env::args_os().collect::<Vec<_>>(),
        )
    }

    /// Reads the configuration file that a command line names; returns no flags if it names none.
    pub(super) fn read(command: &Command, line: &[OsString]) -> Result<Self, clap::Error> {
        // The complete parse afterwards reports errors of the command line.
        let Ok(matches) = command
            .clone()
            .ignore_errors(true)
            .try_get_matches_from(line)
        else {
            return Ok(Self::default());
        };
        let Some((name, matches)) = matches.subcommand() else {
            return Ok(Self::default());
        };
        let Some(path) = matches.try_get_one::<PathBuf>("config").ok().flatten() else {
            return Ok(Self::default());
        };
        let subcommand = command
            .find_subcommand(name)
            .expect("its arguments were parsed");
        let by_member = flags(subcommand, matches, path).map_err(|error| -> clap::Error {
            let message = format!(
                "cannot use the configuration `{}`: {error}\n",
                path.display()
            );
            // Without the usage: it describes the command line, not the file.
            clap::Error::raw(ErrorKind::InvalidValue, message).with_cmd(command)
        })?;
        Ok(Self {
            subcommand: name.to_owned(),
            by_member,
        })
    }

    /// Inserts the flags into the command line, after the subcommand.
    pub(super) fn add_to(&self, mut line: Vec<OsString>) -> Vec<OsString> {
        let command = line
            .iter()
            .skip(1)
            .position(|word| *word == *self.subcommand);
        if let Some(at) = command.filter(|_| !self.by_member.is_empty()) {
            line.splice(at + 2..at + 2, self.by_member.values().flatten().cloned());
        }
        line
    }

    /// Returns the names of members with different values, sorted.
    pub fn changed_members(&self, other: &Self) -> Vec<String> {
        let all: BTreeSet<&String> = self
            .by_member
            .keys()
            .chain(other.by_member.keys())
            .collect();
        let is_changed =
            |member: &&String| self.by_member.get(*member) != other.by_member.get(*member);
        all.into_iter().filter(is_changed).cloned().collect()
    }
}

/// Returns the flags of a file that nothing overrides, by member name.
fn flags(
    command: &Command,
    matches: &ArgMatches,
    path: &Path,
) -> Result<BTreeMap<String, Vec<OsString>>, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let members: Members =
        serde_saphyr::from_str(&text).map_err(|error| error.without_snippet().to_string())?;
    let has_sources = command.get_positionals().next().is_some();
    let mut flags = BTreeMap::new();
    for (
        name,
        Spanned {
            value,
            referenced: place,
            ..
        },
    ) in members
    {
        let at = |error: &str| format!("line {}, column {}: {error}", place.line(), place.column());
        if name == SOURCES && has_sources {
            continue;
        }
        let arg = command
            .get_arguments()
            .find(|arg| member(arg).as_deref() == Some(&*name));
        let arg = arg.ok_or_else(|| {
            let (line, column) =
                key_position(&text, &name, place.line()).unwrap_or((place.line(), place.column()));
            format!(
                "line {line}, column {column}: {}",
                unknown_member(command, &name, has_sources)
            )
        })?;
        let own =
            member_flags(arg, value, path.parent().unwrap_or(path)).map_err(|error| at(&error))?;
        check(command, &own).map_err(|error| at(&error))?;
        let source = matches.value_source(arg.get_id().as_str());
        let is_set_elsewhere = matches!(
            source,
            Some(ValueSource::CommandLine | ValueSource::EnvVariable)
        );
        if !own.is_empty() && !is_set_elsewhere {
            flags.insert(name, own);
        }
    }
    Ok(flags)
}

/// Returns the line and column of a member's name, searching upwards from the line of its value.
fn key_position(text: &str, name: &str, value_line: u64) -> Option<(u64, u64)> {
    let is_key = |line: &str| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    let keys = (1..=value_line)
        .zip(text.lines())
        .filter(|(_, line)| is_key(line));
    keys.last().map(|(number, _)| (number, 1))
}

/// Returns the error message for an unknown member, with similar names.
fn unknown_member(command: &Command, name: &str, has_sources: bool) -> String {
    let mut members: Vec<_> = command.get_arguments().filter_map(member).collect();
    let mut message = format!("`{name}` is not the name of a flag in camel case");
    if has_sources {
        members.push(SOURCES.to_owned());
        message = format!(
            "`{name}` is neither `{SOURCES}`, the list of catalogs, nor the name of a flag in camel case"
        );
    }
    let similar = similar_names(name, members.iter().map(String::as_str), &Work::unlimited())
        .unwrap_or_default();
    // A single letter begins a name of each kind.
    if similar.is_empty() || name.len() == 1 || NOT_IN_FILES.contains(&name) {
        return message;
    }
    let names: Vec<_> = similar.iter().map(|name| format!("`{name}`")).collect();
    format!("{message}; did you mean {}?", names.join(" or "))
}

/// Returns the member name of a flag; `None` if only the command line can set it.
fn member(arg: &Arg) -> Option<String> {
    let long = arg.get_long().filter(|long| !NOT_IN_FILES.contains(long))?;
    let mut words = long.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    Some(words.fold(first, |name, word| {
        name + &word[..1].to_uppercase() + &word[1..]
    }))
}

/// Returns the command line flags for a member. Paths are relative to the folder of the file, as
/// those of catalogs.
fn member_flags(arg: &Arg, value: Value, folder: &Path) -> Result<Vec<OsString>, String> {
    let (values, is_list) = match value {
        Value::One(value) => (vec![value], false),
        Value::Many(values) => (values, true),
        Value::Other(_) => {
            return Err(
                "expected a text, a number, `true`, `false`, or a list of these".to_owned(),
            );
        }
    };
    if is_list && !matches!(arg.get_action(), ArgAction::Append) {
        return Err("expected one value, not a list".to_owned());
    }
    let is_path = matches!(
        arg.get_value_hint(),
        ValueHint::FilePath | ValueHint::DirPath
    );
    let long = arg.get_long().unwrap_or_default();
    let flags = values
        .into_iter()
        .filter_map(|value| match (value, arg.get_action()) {
            (Scalar::Bool(is_set), ArgAction::SetTrue) => {
                is_set.then(|| Ok(format!("--{long}").into()))
            }
            (_, ArgAction::SetTrue) => Some(Err("expected `true` or `false`".to_owned())),
            (Scalar::Text(path), _) if is_path => {
                let mut flag = OsString::from(format!("--{long}="));
                flag.push(folder.join(path));
                Some(Ok(flag))
            }
            (Scalar::Text(text), _) => Some(Ok(format!("--{long}={text}").into())),
            (Scalar::Bool(value), _) => Some(Ok(format!("--{long}={value}").into())),
            (Scalar::Fraction(value), _) => Some(Ok(format!("--{long}={value}").into())),
            (Scalar::Number(value), _) => Some(Ok(format!("--{long}={value}").into())),
        });
    flags.collect()
}

/// Checks the value of one flag, so that an error can name its position in the file.
fn check(command: &Command, flags: &[OsString]) -> Result<(), String> {
    let line = [OsString::from(command.get_name())]
        .into_iter()
        .chain(flags.iter().cloned());
    match command.clone().try_get_matches_from(line) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidValue | ErrorKind::ValueValidation
            ) =>
        {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(first.strip_prefix("error: ").unwrap_or(first).to_owned())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;
    use testing::Folders;

    use super::*;
    use crate::args::{Args, Command as Parsed, ServeArgs};

    fn parse(folders: &Folders, file: &str, line: &str) -> Result<Parsed, String> {
        folders.write("config.yaml", file);
        let words = line.replace('@', &folders.text(""));
        let line: Vec<_> = words.split(' ').map(OsString::from).collect();
        let command = Args::with_variables();
        let flags = FileFlags::read(&command, &line);
        let parsed = flags.and_then(|flags| command.try_get_matches_from(flags.add_to(line)));
        let parsed = parsed
            .map_err(|error| folders.shown(error.to_string().lines().next().unwrap_or_default()))?;
        Ok(Args::from_arg_matches(&parsed).unwrap().command)
    }

    fn serve(folders: &Folders, file: &str, line: &str) -> Box<ServeArgs> {
        let Ok(Parsed::Serve(args)) = parse(folders, file, line) else {
            panic!("{line}")
        };
        args
    }

    #[test]
    fn a_file_sets_every_flag_that_the_command_line_does_not_set() {
        let folders = Folders::new();
        let file = "watch: true\nlisten: ':8443'\nstoreQuota: 1Gi\nmaxDepth: 20\notlpSamplingRatio: 0.25\ntlsCertFile: tls.crt\n\
                    tlsPrivateKeyFile: /keys/tls.key\nallowedHost: [a.example.com, b.example.com]\nsources:\n- source: a\n";
        let args = serve(&folders, file, "catalogql serve --config @config.yaml");
        assert!(args.watch && args.sources.is_empty());
        assert_eq!(
            (
                args.server.listen.as_str(),
                args.server.store_quota.0,
                args.limits.max_depth.get()
            ),
            ("[::]:8443", 1 << 30, 20)
        );
        assert_eq!(args.server.allowed_host, ["a.example.com", "b.example.com"]);
        assert!((args.server.observe.otlp_sampling_ratio - 0.25).abs() < f64::EPSILON);
        let files = args.server.tls.files().unwrap();
        assert_eq!(
            (files.certificate, files.private_key),
            (folders.path("tls.crt"), "/keys/tls.key".into())
        );
        let args = serve(
            &folders,
            file,
            "catalogql serve --config @config.yaml --listen 80 --max-depth=3 b",
        );
        assert_eq!(
            (args.server.listen.as_str(), args.limits.max_depth.get()),
            ("127.0.0.1:80", 3)
        );
        assert_eq!(args.server.store_quota.0, 1 << 30);
    }

    #[test]
    fn members_that_differ_between_two_files_are_named() {
        let folders = Folders::new();
        let flags = |file: &str, line: &str| {
            folders.write("config.yaml", file);
            let words = line.replace('@', &folders.text(""));
            let line: Vec<_> = words.split(' ').map(OsString::from).collect();
            FileFlags::read(&Args::with_variables(), &line).unwrap()
        };
        let line = "catalogql serve --config @config.yaml";
        let before = flags(
            "maxDepth: 20\nwatch: true\nlisten: ':80'\nsources: []\n",
            line,
        );
        let after = flags(
            "maxDepth: 21\nwatch: false\nlisten: ':80'\npoll: 1m\nsources: [{source: a}]\n",
            line,
        );
        assert_eq!(
            before.changed_members(&after),
            ["maxDepth", "poll", "watch"]
        );
        assert_eq!(
            after.changed_members(&before),
            ["maxDepth", "poll", "watch"]
        );
        assert_eq!(
            before.changed_members(&before.clone()),
            Vec::<String>::new()
        );
        // What the command line sets does not change with the file.
        let line = "catalogql serve --max-depth=3 --config @config.yaml";
        let overridden = ["maxDepth: 20\n", "maxDepth: 21\n"].map(|file| flags(file, line));
        assert_eq!(overridden[0], overridden[1]);
    }

    #[test]
    fn each_flag_has_a_member() {
        for name in ["serve", "controller"] {
            let mut command = Args::with_variables();
            command.build();
            let command = command.find_subcommand(name).unwrap();
            let members: Vec<_> = command.get_arguments().filter_map(member).collect();
            let flags = command.get_arguments().filter_map(Arg::get_long);
            assert_eq!(
                members.len(),
                flags.filter(|flag| !NOT_IN_FILES.contains(flag)).count()
            );
            assert!(members.contains(&"maxCachedResponse".to_owned()));
        }
    }

    #[test]
    fn what_is_wrong_in_a_file_is_named_with_its_place() {
        let folders = Folders::new();
        for (file, expected) in [
            (
                "listen: ':8443'\nlistne: 1\n",
                "line 2, column 1: `listne` is neither `sources`, the list of catalogs, nor the name of a flag in camel \
                 case; did you mean `listen`?",
            ),
            (
                "watch: true\ncatalogs:\n- source: a\n",
                "line 2, column 1: `catalogs` is neither `sources`, the list of catalogs, nor the name of a flag in camel \
                 case",
            ),
            (
                "listen: http://a\n",
                "line 1, column 9: invalid value 'http://a' for '--listen <HOST:PORT>': write HOST:PORT, :PORT for every \
                 address, or PORT for the loopback address",
            ),
            (
                "maxDepth: deep\n",
                "line 1, column 11: invalid value 'deep' for '--max-depth <COUNT>': write a whole number",
            ),
            ("watch: 1\n", "line 1, column 8: expected `true` or `false`"),
            (
                "listen: [a, b]\n",
                "line 1, column 9: expected one value, not a list",
            ),
            (
                "listen: {a: b}\n",
                "line 1, column 9: expected a text, a number, `true`, `false`, or a list of these",
            ),
            (
                "config: other.yaml\n",
                "line 1, column 1: `config` is neither `sources`, the list of catalogs, nor the name of a flag in camel case",
            ),
        ] {
            let error = parse(&folders, file, "catalogql serve --config @config.yaml").unwrap_err();
            assert_eq!(
                error,
                format!("error: cannot use the configuration `@/config.yaml`: {expected}")
            );
        }
        let error = parse(
            &folders,
            "sources: []",
            "catalogql controller --config @config.yaml",
        )
        .unwrap_err();
        assert!(
            error.ends_with("`sources` is not the name of a flag in camel case"),
            "{error}"
        );
        let error = parse(&folders, "a: [", "catalogql serve --config @config.yaml").unwrap_err();
        assert!(error.contains("line 1"), "{error}");
        // The usage of the command line follows no error of the file.
        folders.write("config.yaml", "listn: 1\n");
        let line: Vec<OsString> = [
            "catalogql",
            "serve",
            "--config",
            &folders.text("config.yaml"),
        ]
        .map(OsString::from)
        .into();
        let error = FileFlags::read(&Args::with_variables(), &line)
            .unwrap_err()
            .to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
