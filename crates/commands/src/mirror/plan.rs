//! The plan of all items together, and how it is printed.

use std::collections::BTreeMap;
use std::io::Write as _;

use printing::{table, text};
use serde_json::{Value, json};

use crate::output::{OutputFormat, lines};
use crate::session::strings;
use crate::{CommandError, ExitStatus};

/// The selections of all items together.
pub(super) struct MergedPlan {
    /// Items are of several catalogs, which the plan names.
    names_catalogs: bool,
    packages: Vec<Value>,
    bundles: Vec<Value>,
    /// By reference.
    images: BTreeMap<String, Value>,
    pub(super) problems: Vec<Value>,
    /// Values of `MirrorFile`.
    files: Vec<Value>,
}

impl MergedPlan {
    pub(super) fn new(names_catalogs: bool) -> Self {
        Self {
            names_catalogs,
            packages: Vec::new(),
            bundles: Vec::new(),
            images: BTreeMap::new(),
            problems: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Tells whether an item is refused.
    pub(super) fn is_refused(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem["severity"] == "ERROR")
    }

    /// Adds problems; those of the configuration come with each of its items.
    pub(super) fn add_problems(&mut self, problems: Vec<Value>) {
        for mut problem in problems {
            if let Some(members) = problem.as_object_mut() {
                members.retain(|_, value| !value.is_null());
            }
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }

    pub(super) fn add_file(&mut self, file: Value) {
        self.files.push(file);
    }

    /// Adds the answer for an item.
    pub(super) fn add(&mut self, catalog: &str, mut set: Value) {
        let mut list = |name: &str| match set[name].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        let problems = list("problems");
        let bundles: Vec<Value> = list("bundles").iter().map(bundle).collect();
        let packages: Vec<Value> = list("packages")
            .iter()
            .map(|one| package(one, &bundles))
            .collect();
        let images = list("images");
        self.add_problems(problems);
        for mut item in packages {
            if self.names_catalogs {
                item["catalog"] = catalog.into();
            }
            self.packages.push(item);
        }
        for mut item in bundles {
            if self.names_catalogs {
                item["catalog"] = catalog.into();
            }
            self.bundles.push(item);
        }
        for mut image in images {
            let users = image["usedBy"].as_array().into_iter().flatten();
            let users: Vec<Value> = users.map(|bundle| bundle["name"].clone()).collect();
            image["usedBy"] = users.clone().into();
            let reference = text(&image, "/reference");
            match self.images.get_mut(&reference) {
                None => {
                    self.images.insert(reference, image);
                }
                Some(known) => {
                    if image["kind"] == "BUNDLE" {
                        known["kind"] = image["kind"].take();
                    }
                    if let Some(all) = known["usedBy"].as_array_mut() {
                        all.extend(users);
                    }
                }
            }
        }
    }

    /// Returns the plan as an object; without what is selected if it is refused.
    pub(super) fn into_plan(self) -> Value {
        if self.is_refused() {
            return json!({ "packages": [], "bundles": [], "images": [], "problems": self.problems });
        }
        let images: Vec<Value> = self.images.into_values().collect();
        json!({
            "packages": self.packages, "bundles": self.bundles, "images": images,
            "problems": self.problems,
        })
    }

    /// Returns the references of the images, one a line.
    pub(super) fn image_lines(&self) -> String {
        lines(self.images.keys())
    }

    /// Returns the table of the bundles, with totals.
    pub(super) fn bundle_table(&self, has_headers: bool) -> String {
        let header = ["PACKAGE", "BUNDLE", "VERSION", "REASONS"];
        let rows = self.bundles.iter().map(|bundle| {
            let reasons = bundle["reasons"].as_array().into_iter().flatten();
            let reasons: Vec<_> = reasons.map(reason).collect();
            let [package, name, version] =
                ["/package", "/name", "/version"].map(|pointer| text(bundle, pointer));
            [package, name, version, reasons.join(", ")]
        });
        format!(
            "{}{}, {}, {}\n",
            table(header.into_iter().filter(|_| has_headers), rows),
            counted(self.packages.len(), "package"),
            counted(self.bundles.len(), "bundle"),
            counted(self.images.len(), "image")
        )
    }

    /// Returns the file for another tool.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn file(&self, output: &OutputFormat) -> Result<String, CommandError> {
        let mut texts = Vec::new();
        for file in &self.files {
            let Some(rendered) = file["text"].as_str() else {
                let message = text(file, "/message");
                return Err(CommandError::new(ExitStatus::Negative, message));
            };
            texts.push(rendered);
        }
        Ok(match (output, &*texts) {
            (_, [one]) => (*one).to_owned(),
            (OutputFormat::Imageset, _) => joined_image_sets(&texts),
            (OutputFormat::Idms, _) => numbered_mirror_sets(&texts),
            // Catalogs share images.
            _ => {
                let mut all: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
                all.sort_unstable();
                all.dedup();
                lines(all)
            }
        })
    }
}

/// Joins configurations that differ in their items and have the same end.
fn joined_image_sets(texts: &[&str]) -> String {
    const BLOCKED: &str = "  blockedImages:\n";
    const OPERATORS: &str = "  operators:\n";
    let mut joined = String::new();
    let mut end = "";
    for text in texts {
        let (items, blocked) = text.split_at(text.find(BLOCKED).unwrap_or(text.len()));
        end = blocked;
        let items = match items.split_once(OPERATORS) {
            Some((_, items)) if !joined.is_empty() => items,
            _ => items,
        };
        joined.push_str(items);
    }
    joined + end
}

/// Joins mirror sets under names of their own: `idms-operator-1` is that of the second catalog.
fn numbered_mirror_sets(texts: &[&str]) -> String {
    let named = texts
        .iter()
        .enumerate()
        .map(|(at, text)| text.replace("ms-operator-0\n", &format!("ms-operator-{at}\n")));
    named.collect()
}

/// Returns a bundle in the form of the plan.
fn bundle(item: &Value) -> Value {
    let reasons = item["reasons"].as_array().into_iter().flatten();
    let reasons = reasons.map(|reason| {
        let mut own = json!({ "kind": reason["kind"], "channel": reason["channelName"] });
        if !reason["requiredByName"].is_null() {
            own["requiredBy"] = reason["requiredByName"].clone();
        }
        own
    });
    let mut own = json!({
        "package": item["bundle"]["package"]["name"], "name": item["bundle"]["name"],
        "version": item["bundle"]["version"], "image": item["bundle"]["image"],
        "reasons": reasons.collect::<Vec<_>>(),
    });
    // Only an installed bundle may be missing in the catalog.
    if item["isListed"] == false {
        own["isListed"] = false.into();
    }
    own
}

/// Returns a package in the form of the plan.
fn package(item: &Value, bundles: &[Value]) -> Value {
    let name = &item["package"]["name"];
    let channels = item["channels"].as_array().into_iter().flatten();
    let channels = channels
        .map(|channel| json!({ "name": channel["name"], "entries": channel["entryNames"] }));
    let own = bundles.iter().filter(|bundle| bundle["package"] == *name);
    json!({
        "name": name, "defaultChannel": item["defaultChannelName"],
        "channels": channels.collect::<Vec<_>>(),
        "bundles": own.map(|bundle| bundle["name"].clone()).collect::<Vec<_>>(),
        "deprecations": strings(&item["deprecations"]),
    })
}

/// Returns a reason for people, such as `HEAD of stable`.
fn reason(reason: &Value) -> String {
    let [kind, channel, requiring] =
        ["/kind", "/channel", "/requiredBy"].map(|pointer| text(reason, pointer));
    match (&*requiring, &*channel) {
        ("", "") => kind,
        ("", channel) => format!("{kind} of {channel}"),
        (requiring, _) => format!("{kind} {requiring}"),
    }
}

/// Returns a number with its noun.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns the flag behind a place of a request; empty if it has none, and `None` for a place of a
/// configuration.
fn flag(path: &str) -> Option<&'static str> {
    const FLAGS: [(&str, &str); 7] = [
        (".openshift", "--openshift"),
        (".kubernetes", "--kubernetes"),
        (".from", "--from"),
        (".to", "--up-to"),
        (".channels", "--channel"),
        (".defaultChannel", "--channel"),
        (".packages", "--package"),
    ];
    let member = path.strip_prefix("input")?;
    let found = FLAGS.iter().find(|(part, _)| member.contains(part));
    Some(found.map_or("", |(_, flag)| flag))
}

/// Prints problems to the standard error output, each with what oc-mirror does instead.
pub fn print_problems(problems: &[Value]) {
    let mut err = printing::stderr();
    for problem in problems {
        let label = if problem["severity"] == "ERROR" {
            printing::error()
        } else {
            printing::warning()
        };
        let line = match problem["line"].as_u64() {
            Some(line) => format!("line {line}: "),
            None => String::new(),
        };
        let [path, message, code, difference] =
            ["/path", "/message", "/code", "/likeOcMirror"].map(|pointer| text(problem, pointer));
        let place = flag(&path).unwrap_or(&path);
        let place = if place.is_empty() {
            String::new()
        } else {
            format!("{place}: ")
        };
        // Nothing is left to do when standard error cannot be written to.
        let _ = writeln!(err, "{label} {line}{place}{message} [{code}]");
        if !difference.is_empty() {
            let _ = writeln!(err, "  oc-mirror {difference}");
        }
    }
}
