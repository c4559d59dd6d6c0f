//! A plan as a table, as Markdown and as a page.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use printing::{table, text, whole_table};
use serde_json::Value;

use crate::output::{or_none, support_phase};

/// Colours of the verdicts on a page.
const PAGE_STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:2rem}table{border-collapse:collapse}\
th,td{border:1px solid #999;padding:.3rem .6rem;text-align:left}\
.STAYS,.FOLLOWS{background:#cfe8cf}.SWITCHES{background:#ffe2b0}.BLOCKED{background:#f6c6c6}.UNKNOWN{background:#ddd}\
pre{white-space:pre-wrap}";

/// A plan with what was asked for.
pub(super) struct PlanReport<'a> {
    /// The object `PlatformUpgrade` of the API.
    pub(super) plan: &'a Value,
    /// The inputs `ClusterBundleInput`.
    pub(super) installed: &'a [Value],
    pub(super) has_support: bool,
}

impl PlanReport<'_> {
    /// Returns the plan as text for a terminal: a table, the order, and what OLM says.
    pub(super) fn table(&self, has_headers: bool, is_whole: bool) -> String {
        let headers = self.headers();
        let headers: Vec<_> = headers.into_iter().filter(|_| has_headers).collect();
        let rows = self.rows();
        let mut out = if is_whole {
            whole_table(headers, rows)
        } else {
            table(headers, rows)
        };
        if let Some(exception) = self.exception() {
            let _infallible = writeln!(out, "\n{exception}");
        }
        for (at, line) in self.order().iter().enumerate() {
            let blank = if at == 0 { "\n" } else { "" };
            let _infallible = writeln!(out, "{blank}{}. {line}", at + 1);
        }
        for (platform, condition) in self.conditions() {
            let _infallible = write!(out, "\nOLM on {platform}:\n{condition}\n");
        }
        out
    }

    pub(super) fn markdown(&self) -> String {
        let headers = self.headers();
        let mut out = format!(
            "Upgrade plan: **{}**\n\n| {} |\n|{}\n",
            text(self.plan, "/verdict"),
            headers.join(" | "),
            "---|".repeat(headers.len())
        );
        for row in self.rows() {
            let cells: Vec<_> = row.iter().map(|cell| escape_markdown(cell)).collect();
            let _infallible = writeln!(out, "| {} |", cells.join(" | "));
        }
        if let Some(exception) = self.exception() {
            let _infallible = writeln!(out, "\n{}", escape_markdown(&exception));
        }
        for (at, line) in self.order().iter().enumerate() {
            let blank = if at == 0 { "\n" } else { "" };
            let _infallible = writeln!(out, "{blank}{}. {}", at + 1, escape_markdown(line));
        }
        for (platform, condition) in self.conditions() {
            let condition = condition.replace("```", "'''");
            let _infallible = write!(out, "\nOLM on {platform}:\n\n```text\n{condition}\n```\n");
        }
        out
    }

    pub(super) fn html(&self) -> String {
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Upgrade plan</title>\n\
             <style>{PAGE_STYLE}</style>\n<h1>Upgrade plan</h1>\n<table>\n<tr>"
        );
        for header in self.headers() {
            let _infallible = write!(out, "<th>{header}</th>");
        }
        out.push_str("</tr>\n");
        for (row, package) in self.rows().iter().zip(self.packages()) {
            let verdict = escape_html(&text(package, "/verdict"));
            let _infallible = write!(out, "<tr class=\"{verdict}\">");
            for cell in row {
                let _infallible = write!(out, "<td>{}</td>", escape_html(cell));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table>\n");
        if let Some(exception) = self.exception() {
            let _infallible = writeln!(out, "<p>{}</p>", escape_html(&exception));
        }
        out.push_str("<ol>\n");
        for line in self.order() {
            let _infallible = writeln!(out, "<li>{}</li>", escape_html(&line));
        }
        out.push_str("</ol>\n");
        for (platform, condition) in self.conditions() {
            let _infallible = writeln!(
                out,
                "<h2>OLM on {}</h2>\n<pre>{}</pre>",
                escape_html(&platform),
                escape_html(&condition)
            );
        }
        out + "</html>\n"
    }

    /// Returns the images of all upgrades, sorted: those of bundles and those that they relate to.
    pub(super) fn images(&self) -> BTreeSet<String> {
        let moves = self.packages().flat_map(|package| {
            let moves = package["moves"].as_array();
            moves.into_iter().flatten()
        });
        let images = moves.flat_map(|one| {
            let related = one["to"]["relatedImages"].as_array();
            let related = related.into_iter().flatten();
            let related = related.map(|image| text(image, "/image"));
            related.chain([text(one, "/to/image")])
        });
        images.filter(|image| !image.is_empty()).collect()
    }

    fn headers(&self) -> Vec<&'static str> {
        let mut headers = vec!["PACKAGE", "NAMESPACE", "INSTALLED", "VERDICT", "ENDS-WITH"];
        if self.has_support {
            headers.push("SUPPORT");
        }
        headers.push("REASON");
        headers
    }

    fn packages(&self) -> impl Iterator<Item = &Value> {
        self.plan["packages"].as_array().into_iter().flatten()
    }

    /// Returns the cells of the packages, each non-empty.
    fn rows(&self) -> Vec<Vec<String>> {
        let rows = self.packages().map(|package| {
            let mut cells = vec![
                text(package, "/packageName"),
                text(package, "/namespace"),
                self.installed_version(package),
                text(package, "/verdict"),
                version_or_name(package, "/finalVersion", "/finalName"),
            ];
            if self.has_support {
                cells.push(support_phase(&package["finalBundle"]["lifecycle"]));
            }
            cells.push(reason(package));
            let cells = cells.into_iter();
            cells.map(or_none).collect()
        });
        rows.collect()
    }

    fn installed_version(&self, package: &Value) -> String {
        let at = package["index"]
            .as_u64()
            .and_then(|at| usize::try_from(at).ok());
        let installed = at.and_then(|at| self.installed.get(at));
        installed.map_or_else(String::new, |installed| {
            version_or_name(installed, "/version", "/name")
        })
    }

    /// Returns what to do, one sentence for each item.
    fn order(&self) -> Vec<String> {
        let order = self.plan["order"].as_array().into_iter().flatten();
        let sentences = order.map(|action| {
            let Some(at) = action["package"].as_u64() else {
                let step = action["platformStep"].as_u64().unwrap_or_default();
                return format!("upgrade the platform to {}", self.platform(step));
            };
            let package = self
                .packages()
                .nth(usize::try_from(at).unwrap_or(usize::MAX))
                .map(|package| text(package, "/packageName"))
                .unwrap_or_default();
            move_sentence(&package, &action["move"])
        });
        sentences.collect()
    }

    /// Returns a sentence with the packages that the order leaves out, because nothing is known of
    /// them; `None` if there are none.
    fn exception(&self) -> Option<String> {
        let unknown = self
            .packages()
            .filter(|package| package["verdict"] == "UNKNOWN");
        let names: Vec<_> = unknown
            .map(|package| text(package, "/packageName"))
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "This order leaves out what is unknown: {}",
                names.join(", ")
            )
        })
    }

    fn platform(&self, step: u64) -> String {
        text(self.plan, &format!("/steps/{step}/platform"))
    }

    /// Returns the platforms on which OLM blocks the next step, with its messages.
    fn conditions(&self) -> Vec<(String, String)> {
        let steps = self.plan["steps"].as_array().into_iter().flatten();
        let conditions = steps.map(|step| (text(step, "/platform"), text(step, "/condition")));
        conditions
            .filter(|(_, condition)| !condition.is_empty())
            .collect()
    }
}

/// Returns what a move asks for, as a sentence.
fn move_sentence(package: &str, moved: &Value) -> String {
    let channel = text(moved, "/channel");
    let mut sentence = if moved["kind"] == "SWITCH" {
        format!("switch {package} to channel {channel}")
    } else {
        let from = version_or_name(moved, "/fromVersion", "/fromName");
        let to = version_or_name(moved, "/to/version", "/to/name");
        let word = if moved["approval"] == "MANUAL" {
            "approve the upgrade of"
        } else {
            "wait for the upgrade of"
        };
        format!("{word} {package} from {from} to {to}")
    };
    let message = text(moved, "/message");
    if !message.is_empty() {
        let _infallible = write!(sentence, ": {message}");
    }
    sentence
}

/// Returns why a package is blocked or unknown, or what is done with it.
fn reason(package: &Value) -> String {
    let message = text(package, "/message");
    let cause = text(package, "/block/cause");
    if !message.is_empty() {
        return if cause.is_empty() {
            message
        } else {
            format!("{cause}: {message}")
        };
    }
    let moves = package["moves"].as_array();
    let switches = moves.into_iter().flatten();
    let switches = switches.filter(|moved| moved["kind"] == "SWITCH");
    let channels: Vec<_> = switches.map(|moved| text(moved, "/channel")).collect();
    match (channels.is_empty(), moves.map_or(0, Vec::len)) {
        (false, _) => format!("switch to channel {}", channels.join(", then ")),
        (true, 0) => String::new(),
        (true, 1) => "1 upgrade".to_owned(),
        (true, count) => format!("{count} upgrades"),
    }
}

fn version_or_name(object: &Value, version: &str, name: &str) -> String {
    let version = text(object, version);
    if version.is_empty() {
        text(object, name)
    } else {
        version
    }
}

fn escape_markdown(text: &str) -> String {
    escape_html(text).replace('|', "\\|").replace('`', "\\`")
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
