//! Judgement of each operator: its status, what OLM v1 would do with it, and what helps.

use std::collections::BTreeMap;

use printing::text;
use serde_json::Value;

use super::checks::{CONFLICT, CheckFinding, CheckResult, check};
use super::listed;
use super::objects::{MigrationKind, MigrationObjects};
use super::offers::{
    BetterVersion, CatalogOffers, MigrationTarget, NextUpgrade, UpgradeQuestion, WantedBundle,
};
use super::operator::{ClusterIndex, InstalledOperator};

/// Codes of checks that another version of the package may pass.
const BUNDLE_CHECKS: [&str; 4] = ["C1a", "C2", "C3", "OLM_V1"];

/// Status of an operator, in the order of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MigrationStatus {
    /// Both the Subscription and a `ClusterExtension` that was made from it are there.
    Conflict,
    /// A check fails.
    Ineligible,
    /// No check fails, and one is unknown.
    Unknown,
    /// The Subscription is gone.
    AlreadyMigrated,
    /// All checks pass.
    Eligible,
}

/// An operator with everything that is said of it.
pub(super) struct OperatorJudgement<'a> {
    pub(super) operator: InstalledOperator<'a>,
    pub(super) status: MigrationStatus,
    pub(super) findings: Vec<CheckFinding>,
    /// Channel that a manifest names; empty if it names none.
    pub(super) channel: String,
    /// `None` if no catalog has the operator.
    pub(super) next: Option<NextUpgrade>,
    /// Choice without a channel, if the Subscription names none and it is another one.
    pub(super) next_without_channel: Option<NextUpgrade>,
    /// Later version that OLM v1 can install, if the installed one it cannot.
    pub(super) better: Option<BetterVersion>,
    /// `None` if one of the catalogs is not served.
    pub(super) has_same_content: Option<bool>,
    pub(super) warnings: Vec<String>,
}

impl MigrationStatus {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Conflict => "CONFLICT",
            Self::Ineligible => "INELIGIBLE",
            Self::Unknown => "UNKNOWN",
            Self::AlreadyMigrated => "ALREADY_MIGRATED",
            Self::Eligible => "ELIGIBLE",
        }
    }

    /// Returns the status of an operator with these results.
    pub(super) fn of(findings: &[CheckFinding]) -> Self {
        let failed = |finding: &CheckFinding| finding.result == CheckResult::Failed;
        let worst = findings.iter().map(|finding| finding.result).max();
        if findings
            .iter()
            .any(|finding| failed(finding) && finding.code == CONFLICT)
        {
            return Self::Conflict;
        }
        match worst {
            Some(CheckResult::Failed) => Self::Ineligible,
            Some(CheckResult::Unknown) => Self::Unknown,
            Some(CheckResult::Passed) | None => Self::Eligible,
        }
    }
}

impl<'a> OperatorJudgement<'a> {
    /// Judges an operator by the cluster and by what catalogs offer. What happens next is to be asked
    /// for yet.
    pub(super) fn new(mut operator: InstalledOperator<'a>, offers: &CatalogOffers) -> Self {
        let version = operator.version();
        let channel = operator.channel();
        let wanted = WantedBundle {
            package: operator.package(),
            version: &version,
            channel: &channel,
        };
        let search = offers.search(operator.objects(), wanted);
        let source = served_source(&operator, offers);
        let target = search.target.as_ref();
        let places: Vec<_> = source
            .iter()
            .map(String::as_str)
            .chain(target.map(|target| target.served.as_str()))
            .chain(offers.names())
            .collect();
        let followed = target
            .map(|target| target.served.as_str())
            .or(source.as_deref())
            .and_then(|served| offers.package(served, operator.package()))
            .map(|offer| offer.followed_channel(&channel).to_owned());
        let better = offers.better(&places, wanted);
        let has_same_content = target
            .zip(source.as_deref())
            .map(|(target, source)| offers.digest(&target.served) == offers.digest(source));
        operator.set_catalog_search(search);

        let findings = check(&operator);
        let is_blocked = findings.iter().any(|finding| {
            finding.result == CheckResult::Failed && BUNDLE_CHECKS.contains(&finding.code)
        });
        let mut judgement = Self {
            status: MigrationStatus::of(&findings),
            findings,
            channel: followed.unwrap_or(channel),
            next: None,
            next_without_channel: None,
            better: better.filter(|_| is_blocked),
            has_same_content,
            warnings: Vec::new(),
            operator,
        };
        judgement.add_warnings();
        judgement
    }

    pub(super) fn target(&self) -> Option<&MigrationTarget> {
        self.operator.catalog_search().target.as_ref()
    }

    /// Returns the findings that did not pass.
    pub(super) fn open_findings(&self) -> impl Iterator<Item = &CheckFinding> {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.result != CheckResult::Passed)
    }

    /// Returns the failed checks that no flag of upstream's tool overrides.
    pub(super) fn hard_failures(&self) -> impl Iterator<Item = &CheckFinding> {
        let failed = self.findings.iter();
        failed.filter(|finding| {
            finding.result == CheckResult::Failed && finding.acknowledgement.is_none()
        })
    }

    /// Returns the flags of upstream's tool that the operator needs.
    pub(super) fn acknowledgements(&self) -> Vec<&'static str> {
        let findings = self.findings.iter();
        findings
            .filter_map(|finding| finding.acknowledgement)
            .collect()
    }

    /// Returns the codes of the failed checks that another version may pass.
    pub(super) fn blocked_codes(&self) -> Vec<&'static str> {
        let failed = self.open_findings();
        let failed = failed.filter(|finding| finding.result == CheckResult::Failed);
        failed
            .map(|finding| finding.code)
            .filter(|code| BUNDLE_CHECKS.contains(code))
            .collect()
    }

    /// Returns the questions for what OLM v1 does next: for the channel that is followed, and for all
    /// channels if the Subscription names none.
    pub(super) fn questions(&self) -> Vec<UpgradeQuestion> {
        let Some(target) = self.target() else {
            return Vec::new();
        };
        let question = |channels: Vec<String>| UpgradeQuestion {
            package: self.operator.package().to_owned(),
            name: self.operator.installed_name().to_owned(),
            version: self.operator.version(),
            served: target.served.clone(),
            channels,
        };
        let followed = Some(self.channel.clone()).filter(|channel| !channel.is_empty());
        let mut questions = vec![question(followed.into_iter().collect())];
        if self.operator.channel().is_empty() && !self.channel.is_empty() {
            questions.push(question(Vec::new()));
        }
        questions
    }

    /// Takes the answers to the questions.
    pub(super) fn set_next(&mut self, mut answers: Vec<NextUpgrade>) {
        if answers.len() > 1 {
            let without = answers.pop();
            self.next_without_channel = without.filter(|next| Some(next) != answers.first());
        }
        self.next = answers.pop();
        if let Some(without) = &self.next_without_channel {
            self.warnings.push(format!(
                "the Subscription names no channel: OLM v0 follows the default channel `{}`, and OLM v1 without a channel would follow all: {}",
                self.channel,
                without.sentence()
            ));
        }
    }

    fn add_warnings(&mut self) {
        let operator = &self.operator;
        let mut warnings = Vec::new();
        let dependents = operator.dependents();
        if !dependents.is_empty() {
            warnings.push(format!(
                "other operators require the package or an API of it: {}",
                listed(dependents)
            ));
        }
        for group in operator.groups() {
            let strategy = text(group, "/spec/upgradeStrategy");
            if !strategy.is_empty() && strategy != "Default" {
                warnings.push(format!(
                    "the OperatorGroup `{}` has the upgrade strategy `{strategy}`, which OLM v1 does not have",
                    text(group, "/metadata/name")
                ));
            }
        }
        let has_some = |csv: &Value, pointer: &str| {
            let list = csv.pointer(pointer).and_then(Value::as_array);
            list.is_some_and(|list| !list.is_empty())
        };
        if operator.csv().is_some_and(|csv| {
            has_some(csv, "/spec/webhookdefinitions")
                || has_some(csv, "/spec/apiservicedefinitions/owned")
        }) {
            let message = "its pods restart when cert-manager, or service-ca of OpenShift, takes its certificates over";
            warnings.push(message.to_owned());
        }
        if !operator.subscription()["spec"]["config"]["selector"].is_null() {
            let message = "`spec.config.selector` is left out: OLM v0 has never heeded it";
            warnings.push(message.to_owned());
        }
        let search = operator.catalog_search();
        if let Some(target) = &search.target {
            if !target.tied.is_empty() {
                warnings.push(format!(
                    "ClusterCatalogs of one priority have it: `{}` is the first, and OLM v1 without a selector would refuse the choice; the others: {}",
                    target.cluster_catalog,
                    listed(&target.tied)
                ));
            }
            if !search.unserved.is_empty() {
                warnings.push(format!(
                    "catalogql does not serve these ClusterCatalogs, one of which might have it with a higher priority: {}",
                    listed(&search.unserved)
                ));
            }
            if self.has_same_content == Some(false) {
                warnings.push(format!(
                    "the ClusterCatalog `{}` has another content than the CatalogSource `{}`",
                    target.cluster_catalog,
                    operator.source().join("/")
                ));
            }
        }
        self.warnings = warnings;
    }
}

impl NextUpgrade {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Newest => "NEWEST",
            Self::Upgrade(_) => "UPGRADE",
            Self::Stuck(_) => "STUCK",
            Self::Blocked { .. } => "BLOCKED",
        }
    }

    /// Returns what happens next as a sentence without a subject at its end.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Newest => "it would stay, as the newest".to_owned(),
            Self::Upgrade(version) => format!("it would be upgraded to {version}"),
            Self::Stuck(reason) => format!("it would be stuck: {reason}"),
            Self::Blocked { version, reason } => {
                format!("it would be stuck before {version}, which OLM v1 refuses: {reason}")
            }
        }
    }
}

/// Returns the name of the served catalog for the `CatalogSource` of an operator. The controller serves
/// one as NAMESPACE.NAME.
fn served_source(operator: &InstalledOperator<'_>, offers: &CatalogOffers) -> Option<String> {
    let [namespace, name] = operator.source();
    let objects = operator.objects();
    let source = objects.object(MigrationKind::CatalogSource, &namespace, &name)?;
    let image = text(source, "/spec/image");
    let served = offers.served(&format!("{namespace}.{name}"), &image);
    served.map(str::to_owned)
}

/// Returns the judgements of all operators, the most severe status first.
pub(super) fn judge<'a>(
    index: &'a ClusterIndex<'a>,
    objects: &'a MigrationObjects,
    offers: &CatalogOffers,
) -> Vec<OperatorJudgement<'a>> {
    let subscriptions = objects.known(MigrationKind::Subscription);
    let mut judgements: Vec<_> = subscriptions
        .map(|subscription| OperatorJudgement::new(index.operator(subscription), offers))
        .collect();
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for judgement in &judgements {
        let places = names.entry(judgement.operator.name().to_owned());
        places.or_default().push(judgement.operator.place());
    }
    for judgement in &mut judgements {
        let own = judgement.operator.place();
        let same = names.get(judgement.operator.name());
        let others = same.into_iter().flatten().filter(|place| **place != own);
        let others: Vec<_> = others.map(String::as_str).collect();
        if !others.is_empty() {
            judgement.warnings.push(format!(
                "other Subscriptions have its name, and a ClusterExtension has no namespace: `--ce-name` of upstream's tool chooses another one than {}",
                listed(others)
            ));
        }
    }
    // The sort is stable: they are by namespace and name within a status.
    judgements.sort_by_key(|judgement| judgement.status);
    judgements
}
