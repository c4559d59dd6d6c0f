//! Judgements as a table with sentences, and as JSON.

use std::fmt::Write as _;

use printing::{table, whole_table};
use serde_json::{Value, json};

use super::catalog_moves::CatalogMove;
use super::checks::{CheckResult, compared_with, table as table_of_checks};
use super::judgement::{MigrationStatus, OperatorJudgement};
use super::listed;
use super::manifests::commands;
use super::objects::MigrationObjects;
use super::offers::NextUpgrade;
use crate::output::{NONE, or_none};

/// Everything that is said of a cluster.
pub(super) struct MigrationReport<'a> {
    pub(super) objects: &'a MigrationObjects,
    pub(super) judgements: &'a [OperatorJudgement<'a>],
    /// `ClusterExtensions` whose Subscriptions are gone, with NAMESPACE/NAME of these.
    pub(super) migrated: Vec<(String, String)>,
    pub(super) moves: &'a [CatalogMove],
}

/// Row of the table of operators.
type Row = Vec<String>;

impl MigrationReport<'_> {
    /// Returns the worst status: of what is unknown, then of what does not move.
    pub(super) fn verdict(&self) -> MigrationStatus {
        let is_unread = self.objects.unread().next().is_some();
        let has = |status| {
            self.judgements
                .iter()
                .any(|judgement| judgement.status == status)
        };
        if is_unread || has(MigrationStatus::Unknown) {
            MigrationStatus::Unknown
        } else if has(MigrationStatus::Conflict) || has(MigrationStatus::Ineligible) {
            MigrationStatus::Ineligible
        } else {
            MigrationStatus::Eligible
        }
    }

    /// Returns the report as text for a terminal.
    pub(super) fn table(&self, has_headers: bool, is_whole: bool) -> String {
        let print = |headers: &[&'static str], rows: Vec<Row>| {
            let headers: Vec<_> = headers.iter().copied().filter(|_| has_headers).collect();
            if is_whole {
                whole_table(headers, rows)
            } else {
                table(headers, rows)
            }
        };
        let rows = self.rows();
        let mut out = String::new();
        if !rows.is_empty() {
            let headers = [
                "STATUS",
                "NAMESPACE",
                "NAME",
                "PACKAGE",
                "INSTALLED",
                "CHECKS",
                "CATALOG",
                "THEN",
            ];
            out.push_str(&print(&headers, rows));
        }
        for judgement in self.judgements {
            let lines = sentences(judgement);
            if !lines.is_empty() {
                let _infallible = writeln!(out, "\n{}:", judgement.operator.place());
            }
            for line in lines {
                let _infallible = writeln!(out, "- {line}");
            }
        }
        if !self.moves.is_empty() {
            let blank = if out.is_empty() { "" } else { "\n" };
            let headers = ["CATALOGSOURCE", "RESULT", "CLUSTERCATALOG", "REASON"];
            let rows = self.moves.iter().map(|moved| {
                let mut reason = vec![moved.reason.clone()];
                reason.extend(moved.notes.iter().cloned());
                vec![
                    moved.place(),
                    moved.outcome.name().to_owned(),
                    or_none(moved.cluster_catalog.clone()),
                    or_none(reason.join("; ")),
                ]
            });
            out = format!("{out}{blank}{}", print(&headers, rows.collect()));
        }
        out
    }

    fn rows(&self) -> Vec<Row> {
        let row = |judgement: &OperatorJudgement<'_>| {
            let operator = &judgement.operator;
            let codes: Vec<_> = judgement
                .open_findings()
                .map(|finding| finding.code)
                .collect();
            let target = judgement.target();
            let next = judgement.next.as_ref();
            vec![
                judgement.status.name().to_owned(),
                operator.namespace().to_owned(),
                operator.name().to_owned(),
                or_none(operator.package().to_owned()),
                or_none(operator.version()),
                or_none(codes.join(", ")),
                target.map_or_else(|| NONE.to_owned(), |target| target.cluster_catalog.clone()),
                next.map_or_else(|| NONE.to_owned(), |next| next.name().to_owned()),
            ]
        };
        let migrated = self.migrated.iter().map(|(extension, origin)| {
            let (namespace, _) = origin.split_once('/').unwrap_or_default();
            let none = || NONE.to_owned();
            vec![
                MigrationStatus::AlreadyMigrated.name().to_owned(),
                or_none(namespace.to_owned()),
                extension.clone(),
                none(),
                none(),
                none(),
                none(),
                none(),
            ]
        });
        let is_before = |judgement: &&OperatorJudgement<'_>| {
            judgement.status < MigrationStatus::AlreadyMigrated
        };
        let before = self.judgements.iter().filter(is_before).map(row);
        let is_behind = |judgement: &&OperatorJudgement<'_>| !is_before(judgement);
        let behind = self.judgements.iter().filter(is_behind).map(row);
        before.chain(migrated).chain(behind).collect()
    }

    /// Returns the report as the members of a JSON object.
    pub(super) fn json(&self) -> Value {
        let unread = self.objects.unread();
        let unread = unread.map(|(kind, reason)| json!({ "kind": kind.name(), "reason": reason }));
        let migrated = self.migrated.iter().map(
            |(extension, origin)| json!({ "clusterExtension": extension, "subscription": origin }),
        );
        let catalogs = self.moves.iter().map(|moved| {
            json!({
                "catalogSource": moved.place(), "result": moved.outcome.name(),
                "clusterCatalog": some(&moved.cluster_catalog), "image": some(&moved.image),
                "reason": some(&moved.reason), "notes": moved.notes,
            })
        });
        json!({
            "verdict": self.verdict().name(),
            "unreadKinds": unread.collect::<Vec<_>>(),
            "operators": self.judgements.iter().map(operator_json).collect::<Vec<_>>(),
            "alreadyMigrated": migrated.collect::<Vec<_>>(),
            "catalogs": catalogs.collect::<Vec<_>>(),
            "checks": table_of_checks(),
            "comparedWith": compared_with(),
        })
    }
}

fn operator_json(judgement: &OperatorJudgement<'_>) -> Value {
    let operator = &judgement.operator;
    let checks = judgement.findings.iter().map(|finding| {
        json!({
            "code": finding.code, "result": finding.result.name(), "message": some(&finding.message),
            "acknowledgement": finding.acknowledgement,
        })
    });
    let next = |next: &NextUpgrade| json!({ "state": next.name(), "message": next.sentence() });
    let better = judgement.better.as_ref().map(|better| {
        json!({
            "version": better.version, "catalog": better.served, "channels": better.channels,
            "inChannel": better.is_in_channel, "passes": judgement.blocked_codes(),
        })
    });
    let target = judgement.target();
    let is_movable =
        judgement.hard_failures().next().is_none() && judgement.status != MigrationStatus::Unknown;
    json!({
        "namespace": operator.namespace(), "name": operator.name(), "packageName": operator.package(),
        "channel": operator.channel(),
        "installed": { "name": some(operator.installed_name()), "version": some(&operator.version()) },
        "status": judgement.status.name(),
        "checks": checks.collect::<Vec<_>>(),
        "acknowledgements": judgement.acknowledgements(),
        "clusterCatalog": target.map(|target| &target.cluster_catalog),
        "sameContent": judgement.has_same_content,
        "manifestChannel": some(&judgement.channel),
        "next": judgement.next.as_ref().map(next),
        "nextWithoutChannel": judgement.next_without_channel.as_ref().map(next),
        "upgradeFirst": better,
        "warnings": judgement.warnings,
        "commands": if is_movable { commands(judgement, None) } else { Vec::new() },
    })
}

/// Returns what is to be said of an operator, one sentence for each thing.
fn sentences(judgement: &OperatorJudgement<'_>) -> Vec<String> {
    let mut lines: Vec<_> = judgement
        .open_findings()
        .map(|finding| {
            let flag = finding.acknowledgement;
            let flag = flag.map(|flag| format!(" ({flag})")).unwrap_or_default();
            let unknown = match finding.result {
                CheckResult::Unknown => " is unknown",
                _ => "",
            };
            format!("{}{flag}{unknown}: {}", finding.code, finding.message)
        })
        .collect();
    let blocked = judgement.blocked_codes();
    if let Some(better) = &judgement.better {
        let place = if better.is_in_channel {
            format!("in channel {}", judgement.channel)
        } else if better.channels.is_empty() {
            "in no channel".to_owned()
        } else {
            format!("in another channel ({})", listed(&better.channels))
        };
        lines.push(format!(
            "upgrade to {} first, {place} of catalog {}: OLM v1 can install that version",
            better.version, better.served
        ));
    } else if !blocked.is_empty() {
        lines.push(format!(
            "no later version in the catalogs passes {}",
            blocked.join(", ")
        ));
    }
    let next = judgement.next.as_ref();
    if let Some(next) = next {
        lines.push(format!("after the move {}", next.sentence()));
    }
    let warnings = judgement.warnings.iter();
    lines.extend(warnings.map(|warning| format!("warning: {warning}")));
    lines
}

/// Returns a text as JSON, `null` if it is empty.
fn some(text: &str) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        json!(text)
    }
}
