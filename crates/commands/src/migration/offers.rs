//! What served catalogs offer of the installed packages, and the searches over it: the `ClusterCatalog`
//! for an operator, what OLM v1 would do next, and the version that loses a blocker.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};

use fbc_grammar::version::Version;
use printing::text;
use serde_json::{Value, json};

use super::listed;
use super::objects::{MigrationKind, MigrationObjects};
use crate::documents::{
    MIGRATION_BUNDLES, MIGRATION_CATALOGS, MIGRATION_INSTALLATION, MIGRATION_PACKAGES,
    MIGRATION_UPGRADES,
};
use crate::{CommandError, CommandSession, GraphqlTransport, ListRequest};

/// Number of packages in one request.
const MAX_REQUESTED_PACKAGES: usize = 100;

/// Number of installed bundles in one request, which is the limit of the API.
const MAX_REQUESTED_BUNDLES: usize = 200;

/// A catalog that catalogql serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OfferingCatalog {
    pub(super) name: String,
    digest: String,
    /// Reference of its image with the tag; empty for a directory.
    reference: String,
}

/// A package of one catalog.
#[derive(Clone, Debug, Default)]
pub(super) struct PackageOffer {
    /// Name of the default channel; empty if there is none.
    pub(super) default_channel: String,
    pub(super) channels: Vec<String>,
    /// The highest version first.
    pub(super) bundles: Vec<BundleOffer>,
}

/// A bundle of one catalog.
#[derive(Clone, Debug)]
pub(super) struct BundleOffer {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) channels: Vec<String>,
    is_deprecated: bool,
    /// The value of `OlmV1Installability`.
    installable: String,
    /// Details of hard blockers by their codes.
    hard: Vec<(String, String)>,
}

/// Packages that all catalogs offer.
#[derive(Debug, Default)]
pub(super) struct CatalogOffers {
    catalogs: Vec<OfferingCatalog>,
    /// By catalog and package.
    packages: HashMap<(String, String), PackageOffer>,
}

/// Bundles whose images cannot be read.
#[derive(Debug, Default)]
pub(super) struct UnjudgedBundles {
    pub(super) count: usize,
    /// Reason of the first.
    pub(super) reason: Option<String>,
}

/// Search for the `ClusterCatalog` of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CatalogSearch {
    pub(super) target: Option<MigrationTarget>,
    /// The reason why there is no target, with the nearest versions.
    pub(super) failure: String,
    /// `ClusterCatalogs` that serve content in the cluster and that catalogql does not serve.
    pub(super) unserved: Vec<String>,
    /// Codes and details of the hard blockers that the target's bundle has.
    pub(super) blockers: Vec<(String, String)>,
}

/// A `ClusterCatalog` that has what is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MigrationTarget {
    /// Name of the `ClusterCatalog`.
    pub(super) cluster_catalog: String,
    /// Name of the catalog that catalogql serves for it.
    pub(super) served: String,
    /// Others of the same priority that have it, too.
    pub(super) tied: Vec<String>,
}

/// Bundle that an operator asks catalogs for.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedBundle<'a> {
    pub(super) package: &'a str,
    pub(super) version: &'a str,
    /// Channel of the Subscription; it may be empty.
    pub(super) channel: &'a str,
}

/// A question for the upgrades of an installed bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UpgradeQuestion {
    pub(super) package: String,
    /// Name of the installed bundle.
    pub(super) name: String,
    pub(super) version: String,
    /// Name of the served catalog.
    pub(super) served: String,
    /// All channels if empty.
    pub(super) channels: Vec<String>,
}

/// Next step of OLM v1 with an operator after it was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NextUpgrade {
    /// It stays, and nothing newer is in its channels.
    Newest,
    /// It is upgraded to a bundle of this version.
    Upgrade(String),
    /// Newer versions are there, and no entry of the channels leads to them.
    Stuck(String),
    /// It would choose a bundle that it cannot install.
    Blocked {
        /// Version of that bundle.
        version: String,
        /// Reason in English.
        reason: String,
    },
}

/// A later version that loses blockers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BetterVersion {
    pub(super) version: String,
    /// Name of the served catalog.
    pub(super) served: String,
    pub(super) channels: Vec<String>,
    /// `true` if it is in the channel that the Subscription follows.
    pub(super) is_in_channel: bool,
}

impl CatalogOffers {
    /// Asks for what the selected catalogs offer of some packages.
    pub(super) async fn fetch<T: GraphqlTransport>(
        session: &CommandSession<T>,
        packages: &BTreeSet<String>,
    ) -> Result<Self, CommandError> {
        let mut offers = Self::default();
        let data = session.data(MIGRATION_CATALOGS, &Value::Null).await?;
        for catalog in data["catalogs"].as_array().into_iter().flatten() {
            let name = text(catalog, "/name");
            if session.catalogs.is_empty() || session.catalogs.contains(&name) {
                offers.catalogs.push(OfferingCatalog {
                    name,
                    digest: text(catalog, "/digest"),
                    reference: text(catalog, "/imageReference"),
                });
            }
        }
        if offers.catalogs.is_empty() {
            return Ok(offers);
        }
        let names: Vec<_> = packages.iter().collect();
        for part in names.chunks(MAX_REQUESTED_PACKAGES) {
            offers.fetch_part(session, part).await?;
        }
        for package in offers.packages.values_mut() {
            // Those of one version stay in the order of their names.
            package
                .bundles
                .sort_by(|a, b| compare(&b.version, &a.version));
        }
        Ok(offers)
    }

    async fn fetch_part<T: GraphqlTransport>(
        &mut self,
        session: &CommandSession<T>,
        packages: &[&String],
    ) -> Result<(), CommandError> {
        let catalogs: Vec<_> = self.catalogs.iter().map(|catalog| &catalog.name).collect();
        let variables = json!({ "catalogs": catalogs, "packages": packages });
        let request = |document, connection| ListRequest {
            document,
            variables: variables.clone(),
            connection,
            limit: usize::MAX,
        };
        let list = session
            .transport
            .list(request(MIGRATION_PACKAGES, "/packages"))
            .await?;
        for package in &list {
            let key = (text(package, "/catalog/name"), text(package, "/name"));
            let channels = package["channels"].as_array().into_iter().flatten();
            let offer = PackageOffer {
                default_channel: text(package, "/defaultChannel/name"),
                channels: channels.map(|channel| text(channel, "/name")).collect(),
                bundles: Vec::new(),
            };
            self.packages.insert(key, offer);
        }
        let list = session
            .transport
            .list(request(MIGRATION_BUNDLES, "/bundles"))
            .await?;
        for bundle in &list {
            let key = (text(bundle, "/catalog/name"), text(bundle, "/package/name"));
            let offer = self.packages.entry(key).or_default();
            offer.bundles.push(BundleOffer::of(bundle));
        }
        Ok(())
    }

    /// Judges bundles, by package and version, from the manifests in their images, which the server
    /// fetches. Returns the number of bundles that it cannot judge, with the reason of the first.
    pub(super) async fn judge_from_images<T: GraphqlTransport>(
        &mut self,
        session: &CommandSession<T>,
        wanted: &BTreeSet<(String, String)>,
    ) -> UnjudgedBundles {
        let mut unjudged = UnjudgedBundles::default();
        for ((catalog, package), offer) in &mut self.packages {
            for bundle in &mut offer.bundles {
                if !wanted.contains(&(package.clone(), bundle.version.clone())) {
                    continue;
                }
                let variables =
                    json!({ "catalog": catalog, "package": package, "bundle": bundle.name });
                match session.data(MIGRATION_INSTALLATION, &variables).await {
                    Ok(data) => bundle.set_judgement(&data["bundle"]["installation"]["olmV1"]),
                    Err(error) => {
                        unjudged.count += 1;
                        unjudged.reason.get_or_insert(error.to_string());
                    }
                }
            }
        }
        unjudged
    }

    /// Returns the name of the served catalog for an image or a name of a catalog of the cluster.
    /// A catalog that is served under the name from another image is another one.
    pub(super) fn served(&self, name: &str, image: &str) -> Option<&str> {
        let by_name = self.catalogs.iter().find(|catalog| {
            catalog.name == name && (catalog.reference.is_empty() || catalog.reference == image)
        });
        let by_image = || {
            let mut catalogs = self.catalogs.iter();
            catalogs.find(|catalog| !image.is_empty() && catalog.reference == image)
        };
        let found = by_name.or_else(by_image);
        found.map(|catalog| catalog.name.as_str())
    }

    /// Returns the names of the served catalogs.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.catalogs.iter().map(|catalog| catalog.name.as_str())
    }

    /// Returns the digest of a served catalog.
    pub(super) fn digest(&self, served: &str) -> Option<&str> {
        let catalog = self.catalogs.iter().find(|catalog| catalog.name == served);
        catalog.map(|catalog| catalog.digest.as_str())
    }

    /// Returns what a served catalog offers of a package.
    pub(super) fn package(&self, served: &str, package: &str) -> Option<&PackageOffer> {
        self.packages.get(&(served.to_owned(), package.to_owned()))
    }

    /// Searches for the `ClusterCatalog` that upstream's tool would name: of those that serve
    /// package, version and channel the one with the highest priority, and the first of several.
    pub(super) fn search(
        &self,
        objects: &MigrationObjects,
        wanted: WantedBundle<'_>,
    ) -> CatalogSearch {
        let mut search = CatalogSearch::default();
        let mut found: Vec<(i64, MigrationTarget)> = Vec::new();
        let mut reasons = Vec::new();
        for catalog in objects.known(MigrationKind::ClusterCatalog) {
            let name = text(catalog, "/metadata/name");
            if let Some(reason) = not_serving(catalog) {
                reasons.push(format!("ClusterCatalog `{name}` {reason}"));
                continue;
            }
            let image = text(catalog, "/spec/source/image/ref");
            let Some(served) = self.served(&name, &image) else {
                search.unserved.push(name);
                continue;
            };
            let Some(offer) = self.package(served, wanted.package) else {
                continue;
            };
            if let Some(lack) = offer.lack(wanted) {
                reasons.push(format!("ClusterCatalog `{name}` {lack}"));
                continue;
            }
            let target = MigrationTarget {
                cluster_catalog: name,
                served: served.to_owned(),
                tied: Vec::new(),
            };
            let priority = catalog["spec"]["priority"].as_i64();
            found.push((priority.unwrap_or_default(), target));
        }
        let highest = found.iter().map(|(priority, _)| *priority).max();
        let best = found.into_iter().filter(|(own, _)| Some(*own) == highest);
        let mut best = best.map(|(_, target)| target);
        search.target = best.next();
        if let Some(target) = &mut search.target {
            target.tied = best.map(|target| target.cluster_catalog).collect();
            let offer = self.package(&target.served, wanted.package);
            let bundle = offer.and_then(|offer| offer.bundle(wanted.version));
            search.blockers = bundle.map_or_else(Vec::new, |bundle| bundle.hard.clone());
            return search;
        }
        let channel = match wanted.channel {
            "" => String::new(),
            channel => format!(" with channel `{channel}`"),
        };
        let reasons = match &reasons[..] {
            [] => String::new(),
            reasons => format!(": {}", listed(reasons)),
        };
        search.failure = format!(
            "no ClusterCatalog serves package `{}` in version `{}`{channel}{reasons}",
            wanted.package, wanted.version
        );
        search
    }

    /// Returns what OLM v1 does next with an installed bundle, whose successors these are.
    pub(super) fn next(&self, question: &UpgradeQuestion, successors: &[String]) -> NextUpgrade {
        let offer = self.package(&question.served, &question.package);
        let bundles = offer.map_or(&[][..], |offer| &offer.bundles);
        let is_followed = |bundle: &&BundleOffer| {
            question.channels.is_empty()
                || bundle
                    .channels
                    .iter()
                    .any(|channel| question.channels.contains(channel))
        };
        let followed: Vec<_> = bundles.iter().filter(is_followed).collect();
        let is_newer = |bundle: &&&BundleOffer| {
            compare(&bundle.version, &question.version) == Ordering::Greater
        };
        let newest = followed.iter().find(is_newer);
        let successors: HashSet<_> = successors.iter().map(String::as_str).collect();
        let is_possible = |bundle: &&&BundleOffer| {
            bundle.version == question.version || successors.contains(bundle.name.as_str())
        };
        // OLM v1 prefers bundles that are not deprecated, then the highest version.
        let possible = followed.iter().filter(is_possible);
        let chosen = possible.min_by_key(|bundle| bundle.is_deprecated);
        let Some(chosen) = chosen else {
            return NextUpgrade::Stuck(
                "neither the installed version nor an upgrade from it is in the channel".to_owned(),
            );
        };
        if chosen.version != question.version {
            let version = chosen.version.clone();
            return match chosen.refusal() {
                Some(reason) => NextUpgrade::Blocked { version, reason },
                None => NextUpgrade::Upgrade(version),
            };
        }
        match newest {
            None => NextUpgrade::Newest,
            Some(newest) => NextUpgrade::Stuck(format!(
                "no upgrade leads from {} towards {}",
                question.version, newest.version
            )),
        }
    }

    /// Returns the lowest later version that OLM v1 can install: in the channel that is followed if
    /// one is there.
    pub(super) fn better(
        &self,
        served: &[&str],
        wanted: WantedBundle<'_>,
    ) -> Option<BetterVersion> {
        // A package of the name in another catalog may be another one.
        let mut served = served.iter();
        let (served, offer) = served.find_map(|served| {
            let offer = self.package(served, wanted.package)?;
            Some((*served, offer))
        })?;
        let channel = offer.followed_channel(wanted.channel);
        let lowest_first = offer.bundles.iter().rev();
        let later = lowest_first.filter(|bundle| {
            compare(&bundle.version, wanted.version) == Ordering::Greater
                && bundle.installable == "YES"
        });
        let is_in_channel = |bundle: &BundleOffer| bundle.channels.iter().any(|own| own == channel);
        let better = later.min_by_key(|bundle| !is_in_channel(bundle))?;
        Some(BetterVersion {
            version: better.version.clone(),
            served: served.to_owned(),
            channels: better.channels.clone(),
            is_in_channel: is_in_channel(better),
        })
    }
}

impl PackageOffer {
    /// Returns the channel that a Subscription follows: that which it names, or else the default one.
    pub(super) fn followed_channel<'a>(&'a self, channel: &'a str) -> &'a str {
        if channel.is_empty() {
            &self.default_channel
        } else {
            channel
        }
    }

    /// Returns the bundle of a version.
    pub(super) fn bundle(&self, version: &str) -> Option<&BundleOffer> {
        self.bundles.iter().find(|bundle| bundle.version == version)
    }

    /// Returns what a package lacks of what is wanted, as the rest of a sentence.
    fn lack(&self, wanted: WantedBundle<'_>) -> Option<String> {
        if self.bundle(wanted.version).is_none() {
            let nearest = self.nearest(wanted.version);
            return Some(if nearest.is_empty() {
                "has no version of the package".to_owned()
            } else {
                format!(
                    "has not this version, the nearest {} {}",
                    if nearest.len() == 1 { "is" } else { "are" },
                    nearest.join(" and ")
                )
            });
        }
        let has_channel = wanted.channel.is_empty()
            || self
                .channels
                .iter()
                .any(|channel| channel == wanted.channel);
        (!has_channel).then(|| format!("has not this channel, but {}", listed(&self.channels)))
    }

    /// Returns the versions next to one that is not there, the lower one first.
    pub(super) fn nearest(&self, version: &str) -> Vec<String> {
        let mut versions = self.bundles.iter().map(|bundle| &bundle.version);
        let below = versions.clone().find(|own| compare(own, version).is_lt());
        let above = versions.rfind(|own| compare(own, version).is_gt());
        below.into_iter().chain(above).cloned().collect()
    }
}

impl BundleOffer {
    fn of(bundle: &Value) -> Self {
        let channels = bundle["channelNames"].as_array().into_iter().flatten();
        let channels = channels.filter_map(Value::as_str).map(str::to_owned);
        let mut offer = Self {
            name: text(bundle, "/name"),
            version: text(bundle, "/version"),
            channels: channels.collect(),
            is_deprecated: !bundle["deprecation"].is_null(),
            installable: String::new(),
            hard: Vec::new(),
        };
        offer.set_judgement(&bundle["olmV1"]);
        offer
    }

    /// Sets what OLM v1 makes of it, from an `OlmV1Judgement`.
    fn set_judgement(&mut self, judgement: &Value) {
        let blockers = judgement["blockers"].as_array().into_iter().flatten();
        let hard = blockers.filter(|blocker| blocker["hard"] == true);
        self.installable = text(judgement, "/installable");
        self.hard = hard
            .map(|blocker| (text(blocker, "/code"), text(blocker, "/detail")))
            .collect();
    }

    /// Returns why OLM v1 does not install it without a feature gate.
    pub(super) fn refusal(&self) -> Option<String> {
        let hard = self.hard.first();
        let hard = hard.map(|(code, detail)| format!("{code}: {detail}"));
        let gate = || {
            (self.installable == "TECH_PREVIEW")
                .then(|| "NO_ALL_NAMESPACES: it needs a feature gate".to_owned())
        };
        hard.or_else(gate)
    }
}

/// Returns the bundles that each question's bundle can be upgraded to in one step, in the order of the
/// questions.
pub(super) async fn successors<T: GraphqlTransport>(
    session: &CommandSession<T>,
    questions: &[UpgradeQuestion],
) -> Result<Vec<Vec<String>>, CommandError> {
    let mut all = vec![Vec::new(); questions.len()];
    for (part, answers) in questions
        .chunks(MAX_REQUESTED_BUNDLES)
        .zip(all.chunks_mut(MAX_REQUESTED_BUNDLES))
    {
        let installed: Vec<_> = part
            .iter()
            .map(|question| {
                json!({
                    "packageName": question.package,
                    "bundle": { "name": question.name, "version": question.version },
                    "catalog": question.served,
                    "channels": question.channels,
                })
            })
            .collect();
        let variables = json!({ "installed": installed });
        let data = session.data(MIGRATION_UPGRADES, &variables).await?;
        for upgrades in data["availableUpgrades"].as_array().into_iter().flatten() {
            let at = upgrades["index"].as_u64();
            let at = at.and_then(|at| usize::try_from(at).ok());
            let Some(answer) = at.and_then(|at| answers.get_mut(at)) else {
                continue;
            };
            let edges = upgrades["successors"].as_array().into_iter().flatten();
            answer.extend(edges.map(|edge| text(edge, "/toName")));
        }
    }
    Ok(all)
}

/// Returns why a `ClusterCatalog` serves nothing, as the rest of a sentence.
fn not_serving(catalog: &Value) -> Option<&'static str> {
    if catalog["spec"]["availabilityMode"] == "Unavailable" {
        return Some("is unavailable");
    }
    let conditions = catalog["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let is_serving =
        conditions.any(|condition| condition["type"] == "Serving" && condition["status"] == "True");
    (!is_serving).then_some("does not serve its content yet")
}

/// Compares versions; texts that are none are lower than any.
fn compare(a: &str, b: &str) -> Ordering {
    match (Version::parse(a), Version::parse(b)) {
        (Ok(a), Ok(b)) => a.precedence(&b),
        (a, b) => a.is_ok().cmp(&b.is_ok()),
    }
}
