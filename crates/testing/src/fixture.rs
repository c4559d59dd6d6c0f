//! A catalog in one string: the fixture of every layer, from the index to the HTTP answers.
//!
//! ```text
//! package etcd default=stable
//! channel stable: v0.9.0 <- v0.9.2 <- v0.9.4 skips=v0.9.1 range=">=0.9.0 <0.9.4"
//! channel alpha: v0.9.4
//! bundle v0.9.4 provides=etcd.io/v1/Etcd needs=vault@>=1.0.0 display="etcd" keywords=store,database
//! deprecated channel alpha "use stable"
//! {"schema":"example.com.extra","package":"etcd"}
//! ```
//!
//! A bundle `v0.9.4` of package `etcd` is named `etcd.v0.9.4`, has version `0.9.4` and an image of
//! its own. A name that a channel gives has a bundle unless it ends in `?`. `<-` means that what
//! follows replaces what went before; a `,` begins a new chain. What a bundle displays (`display`,
//! `describes`, `provider`, `keywords`, `categories`, `features`, `level`, `modes`) becomes an
//! `olm.csv.metadata`. A line that begins with `{` is taken as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use bytes::Bytes;
use fbc::Catalog;
use fbc_read::origin::FileOrigin;
use fbc_read::{FileReader, Origins, ReadEvent, ReadLimits};

/// A catalog that [`NEWER`] replaces in tests of what differs.
pub const OLDER: &str = "
    package etcd default=stable
    channel stable: v1.0.0 <- v1.1.0
    package zoo default=beta
    channel beta: v0.1.0";

/// A catalog with a bundle and a channel more than [`OLDER`], and a package less.
pub const NEWER: &str = "
    package etcd default=stable
    channel stable: v1.0.0 <- v1.1.0 <- v1.2.0
    channel candidate: v1.2.0";

/// Returns the canonical lines of a fixture. Panics, here and below, where it is malformed.
pub fn lines(fixture: &str) -> String {
    let mut writer = Writer::default();
    for line in fixture
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        writer.line(line);
    }
    writer.close_package();
    writer.lines
}

/// Builds the catalog of a fixture, as if it was read from one file `catalog.json`.
pub fn catalog(fixture: &str) -> Catalog {
    catalog_of(&lines(fixture))
}

/// Builds the catalog of canonical lines, as if they were read from one file `catalog.json`.
pub fn catalog_of(lines: &str) -> Catalog {
    let count = u32::try_from(lines.lines().count()).expect("a fixture is short");
    let file = FileOrigin {
        path: "catalog.json".to_owned(),
        lines: (1..=count).collect(),
        ..FileOrigin::default()
    };
    Catalog::build(
        Bytes::from(lines.to_owned()),
        &Origins {
            files: vec![file],
            ..Origins::default()
        },
    )
    .expect("the lines are well-formed")
}

/// Appends the canonical lines of a file, which is named by its path, and returns where they came
/// from.
pub fn read_file(path: &str, file: &[u8], lines: &mut Vec<u8>) -> FileOrigin {
    let mut origin = FileOrigin {
        path: path.to_owned(),
        ..FileOrigin::default()
    };
    let mut reader = FileReader::new(ReadLimits::default());
    reader.push(file);
    reader.finish();
    loop {
        match reader
            .next()
            .expect("the blobs of the file are well-formed")
        {
            ReadEvent::Blob(blob) => {
                lines.extend_from_slice(blob.line);
                origin.lines.push(blob.at);
            }
            ReadEvent::Notice(notice) => origin.notices.push(notice),
            ReadEvent::NeedInput | ReadEvent::End => return origin,
        }
    }
}

#[derive(Default)]
struct Writer {
    lines: String,
    package: String,
    /// Bundles that channels name and no line describes yet.
    named: BTreeSet<String>,
    written: BTreeSet<String>,
    deprecations: Vec<String>,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "package" => self.open_package(rest),
            "channel" => self.channel(rest),
            "bundle" => self.bundle(rest),
            "deprecated" => self.deprecated(rest),
            _ if line.starts_with('{') => {
                writeln!(self.lines, "{line}").expect("a string takes everything");
            }
            _ => panic!("no line of a fixture: {line}"),
        }
    }

    fn open_package(&mut self, rest: &str) {
        self.close_package();
        let mut words = words(rest);
        self.package = words.remove(0);
        let default = words
            .iter()
            .find_map(|word| word.strip_prefix("default="))
            .unwrap_or_default();
        let description = words
            .iter()
            .find_map(|word| word.strip_prefix("description="));
        let description =
            description.map_or(String::new(), |text| format!(r#""description":{text:?},"#));
        let package = &self.package;
        writeln!(
            self.lines,
            r#"{{"defaultChannel":"{default}",{description}"name":"{package}","schema":"olm.package"}}"#
        )
        .expect("a string takes everything");
    }

    /// Writes what the package still owes: the bundles its channels name, and its deprecations.
    fn close_package(&mut self) {
        for name in std::mem::take(&mut self.named) {
            if !self.written.contains(&name) {
                self.bundle(&name);
            }
        }
        self.written.clear();
        if !self.deprecations.is_empty() {
            let entries = std::mem::take(&mut self.deprecations).join(",");
            let package = &self.package;
            writeln!(
                self.lines,
                r#"{{"entries":[{entries}],"package":"{package}","schema":"olm.deprecations"}}"#
            )
            .expect("a string takes everything");
        }
    }

    fn channel(&mut self, rest: &str) {
        let (name, chains) = rest.split_once(':').expect("a channel has a colon");
        let mut entries = Vec::new();
        for chain in chains
            .split(" , ")
            .map(str::trim)
            .filter(|chain| !chain.is_empty())
        {
            let mut replaces = None;
            for entry in chain.split(" <- ") {
                let words = words(entry);
                let bundle = self.entry_name(&words[0]);
                entries.push(self.entry(&bundle, replaces.as_deref(), &words[1..]));
                replaces = Some(bundle);
            }
        }
        let entries = entries.join(",");
        let package = &self.package;
        writeln!(
            self.lines,
            r#"{{"entries":[{entries}],"name":"{name}","package":"{package}","schema":"olm.channel"}}"#
        )
        .expect("a string takes everything");
    }

    /// The full name of an entry's bundle, which is owed unless the word ends in `?`.
    fn entry_name(&mut self, word: &str) -> String {
        if let Some(absent) = word.strip_suffix('?') {
            return self.full_name(absent);
        }
        self.named.insert(word.to_owned());
        self.full_name(word)
    }

    fn entry(&self, name: &str, replaces: Option<&str>, options: &[String]) -> String {
        let mut entry = format!(r#"{{"name":"{name}""#);
        let mut replaces = replaces.map(str::to_owned);
        let mut skips = None;
        let mut range = None;
        for option in options {
            match option.split_once('=').expect("an option has a value") {
                ("replaces", name) => replaces = Some(self.full_name(name)),
                ("skips", names) => {
                    skips = Some(
                        names
                            .split(',')
                            .map(|name| format!("{:?}", self.full_name(name))),
                    );
                }
                ("range", text) => range = Some(text),
                (other, _) => panic!("no option of an entry: {other}"),
            }
        }
        if let Some(replaces) = replaces {
            write!(entry, r#","replaces":"{replaces}""#).expect("a string takes everything");
        }
        if let Some(range) = range {
            write!(entry, r#","skipRange":{range:?}"#).expect("a string takes everything");
        }
        if let Some(skips) = skips {
            write!(
                entry,
                r#","skips":[{}]"#,
                skips.collect::<Vec<_>>().join(",")
            )
            .expect("a string takes everything");
        }
        entry + "}"
    }

    fn bundle(&mut self, rest: &str) {
        let words = words(rest);
        let name = self.full_name(&words[0]);
        self.written.insert(words[0].clone());
        let package = &self.package;
        let mut version = words[0].trim_start_matches('v').to_owned();
        let mut image = format!("quay.io/example/{package}:{}", words[0].replace('+', "-"));
        let mut properties = Vec::new();
        let mut related = String::new();
        let mut display = Display::default();
        for option in &words[1..] {
            match option.split_once('=').expect("an option has a value") {
                ("version", text) => text.clone_into(&mut version),
                ("image", text) => text.clone_into(&mut image),
                ("provides", api) => properties.push(gvk("olm.gvk", api)),
                ("requires", api) => properties.push(gvk("olm.gvk.required", api)),
                ("needs", need) => {
                    let (name, range) = need.split_once('@').expect("a need has a range");
                    properties.push(format!(
                        r#"{{"type":"olm.package.required","value":{{"packageName":"{name}","versionRange":"{range}"}}}}"#
                    ));
                }
                ("property", text) => properties.push(text.to_owned()),
                ("related", images) => {
                    let images: Vec<_> = images
                        .split(',')
                        .map(|image| format!(r#"{{"image":"{image}","name":"x"}}"#))
                        .collect();
                    related = format!(r#""relatedImages":[{}],"#, images.join(","));
                }
                (other, text) => display.set(other, text),
            }
        }
        properties.insert(
            0,
            format!(r#"{{"type":"olm.package","value":{{"packageName":"{package}","version":"{version}"}}}}"#),
        );
        properties.extend(display.property());
        writeln!(
            self.lines,
            r#"{{"image":"{image}","name":"{name}","package":"{package}","properties":[{}],{related}"schema":"olm.bundle"}}"#,
            properties.join(",")
        )
        .expect("a string takes everything");
    }

    fn deprecated(&mut self, rest: &str) {
        let words = words(rest);
        let message = words.last().expect("a deprecation has a message");
        let reference = match words[0].as_str() {
            "package" => r#"{"schema":"olm.package"}"#.to_owned(),
            "channel" => format!(r#"{{"name":"{}","schema":"olm.channel"}}"#, words[1]),
            "bundle" => format!(
                r#"{{"name":"{}","schema":"olm.bundle"}}"#,
                self.full_name(&words[1])
            ),
            other => panic!("nothing to deprecate: {other}"),
        };
        self.deprecations.push(format!(
            r#"{{"message":{message:?},"reference":{reference}}}"#
        ));
    }

    fn full_name(&self, short: &str) -> String {
        format!("{}.{short}", self.package)
    }
}

/// Display metadata of a bundle, as members of its `olm.csv.metadata`.
#[derive(Default)]
struct Display {
    annotations: BTreeMap<String, String>,
    members: BTreeMap<&'static str, String>,
}

impl Display {
    fn set(&mut self, option: &str, text: &str) {
        let list = |item: fn(&str) -> String| {
            format!(
                "[{}]",
                text.split(',').map(item).collect::<Vec<_>>().join(",")
            )
        };
        let member = match option {
            "display" => ("displayName", quoted(text)),
            "describes" => ("description", quoted(text)),
            "provider" => ("provider", format!(r#"{{"name":"{text}"}}"#)),
            "keywords" => ("keywords", list(quoted)),
            "modes" => (
                "installModes",
                list(|mode| format!(r#"{{"supported":true,"type":"{mode}"}}"#)),
            ),
            "categories" => return self.annotate("categories", text),
            "level" => return self.annotate("capabilities", text),
            "features" => {
                let annotation = |feature| format!("features.operators.openshift.io/{feature}");
                return text
                    .split(',')
                    .for_each(|feature| self.annotate(&annotation(feature), "true"));
            }
            other => panic!("no option of a bundle: {other}"),
        };
        self.members.insert(member.0, member.1);
    }

    fn annotate(&mut self, key: &str, value: &str) {
        self.annotations.insert(key.to_owned(), quoted(value));
    }

    fn property(mut self) -> Option<String> {
        let object = |members: Vec<String>| format!("{{{}}}", members.join(","));
        if !self.annotations.is_empty() {
            let annotations = self
                .annotations
                .iter()
                .map(|(key, value)| format!(r#""{key}":{value}"#))
                .collect();
            self.members.insert("annotations", object(annotations));
        }
        let members: Vec<_> = self
            .members
            .iter()
            .map(|(key, value)| format!(r#""{key}":{value}"#))
            .collect();
        let value = (!members.is_empty()).then(|| object(members));
        value.map(|value| format!(r#"{{"type":"olm.csv.metadata","value":{value}}}"#))
    }
}

/// A JSON string of text without quotes, as [`words`] leaves it.
fn quoted(text: &str) -> String {
    format!(r#""{text}""#)
}

fn gvk(property: &str, api: &str) -> String {
    let parts: Vec<_> = api.split('/').collect();
    let [group, version, kind] = parts[..] else {
        panic!("no API: {api}")
    };
    format!(
        r#"{{"type":"{property}","value":{{"group":"{group}","kind":"{kind}","version":"{version}"}}}}"#
    )
}

/// Splits at blanks outside of double quotes, which are left out.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    for letter in text.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            letter => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}
