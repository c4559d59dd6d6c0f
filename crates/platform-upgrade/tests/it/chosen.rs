//! What OLM chooses, by the functions that answer `solve` and `resolve`.

use fbc::Catalog;
use fbc::work::Work;
use solve::{
    InstalledOperator, PackageSubscription, SolveOutcome, SolveRequest, SourceCatalog, solve,
};

/// An installed bundle that a Subscription upgrades.
#[derive(Clone, Copy)]
pub(crate) struct SubscribedBundle<'a> {
    pub(crate) package: &'a str,
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    pub(crate) channel: &'a str,
}

/// Returns the name of the bundle that OLM v0 upgrades to; `None` if there is none.
pub(crate) fn solved(subscribed: SubscribedBundle<'_>, catalog: &Catalog) -> Option<String> {
    let request = SolveRequest {
        namespaces: vec!["olm".to_owned()],
        subscriptions: vec![PackageSubscription {
            name: "subscription".to_owned(),
            package: subscribed.package.to_owned(),
            channel: subscribed.channel.to_owned(),
            installed_csv: subscribed.name.to_owned(),
            ..PackageSubscription::default()
        }],
        installed: vec![InstalledOperator {
            name: subscribed.name.to_owned(),
            version: subscribed.version.to_owned(),
            ..InstalledOperator::default()
        }],
        ..SolveRequest::default()
    };
    let catalogs = [SourceCatalog {
        name: "catalog",
        namespace: "olm",
        priority: 0,
        labels: None,
        catalog,
    }];
    let work = Work::unlimited();
    let outcome = solve(&request, &catalogs, u64::MAX, &work).expect("the work is not limited");
    let SolveOutcome::Solution(solution) = outcome else {
        return None;
    };
    let mut upgrades = solution.steps.iter().filter(|step| step.is_upgrade);
    let upgrade = upgrades.next()?;
    Some(upgrade.placed.bundle().name().to_owned())
}
