//! A search written apart: it visits every state and prices every way, without pruning, by the
//! functions of `solve` and `fbc-graph` that answer other questions. The walk must agree with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use fbc::work::Work;
use fbc::{Bundle, Catalog, Package, Platform};
use fbc_graph::graph::{Installed, successors};
use fbc_graph::resolve::{InstalledBundle, Offer, ResolutionRequest, resolve};
use platform_upgrade::{
    Approval, ClusterBundle, MoveKind, OlmRules, PackagePlan, PlatformUpgradeRequest,
    UpgradeVerdict,
};

use crate::chosen::{SubscribedBundle, solved};
use crate::world::{World, planned, said};

/// Price of a way: switches, approvals, upgrades.
type Price = [usize; 3];

/// A state: the step, the catalog and name of what is installed, and the channel that was switched
/// to. A catalog of `None` stands for what was installed at the start.
type Situation = (usize, Option<usize>, String, Option<String>);

/// What a search says of an installed bundle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Unknown,
    /// The price of the cheapest ways, and the highest version that one of them leads to.
    Way(Price, String),
    /// The step that cannot be taken.
    Blocked(usize),
}

struct NaiveSearch<'r, 'a> {
    request: &'r PlatformUpgradeRequest<'a>,
    installed: &'r ClusterBundle<'a>,
}

impl<'a> NaiveSearch<'_, 'a> {
    fn content(&self, step: usize) -> &'a Catalog {
        self.request.steps[step].catalogs[0]
            .content
            .expect("made catalogs are served")
    }

    fn package(&self, step: usize) -> Option<Package<'a>> {
        self.content(step).package(self.installed.package)
    }

    fn platform(&self, step: usize) -> Platform<'a> {
        self.request.steps[step].platform
    }

    /// The bundle that is installed in a situation, as a catalog knows it.
    fn bundle(&self, situation: &Situation) -> Option<Bundle<'a>> {
        self.package(situation.1.unwrap_or(0))?.bundle(&situation.2)
    }

    fn version(&self, situation: &Situation) -> Option<&'a str> {
        match situation.1 {
            None => self
                .installed
                .version
                .or_else(|| self.bundle(situation)?.version()),
            Some(_) => self.bundle(situation)?.version(),
        }
    }

    fn as_installed<'s>(&self, situation: &'s Situation) -> Installed<'s>
    where
        'a: 's,
    {
        let version = self.version(situation);
        Installed {
            name: &situation.2,
            version: version.and_then(|version| {
                fbc_grammar::version::VersionRelease::parse(version, None).ok()
            }),
        }
    }

    fn channels(&self, situation: &Situation) -> Vec<String> {
        if let Some(name) = &situation.3 {
            return vec![name.clone()];
        }
        let given = self
            .installed
            .channels
            .iter()
            .map(|name| (*name).to_owned());
        let given: Vec<_> = given.collect();
        if given.is_empty() && self.installed.rules == OlmRules::V0 {
            let package = self.package(situation.0);
            return package
                .map(|package| package.default_channel_name().to_owned())
                .into_iter()
                .collect();
        }
        given
    }

    /// The upgrade that OLM would make, if it can be installed.
    fn upgrade(&self, situation: &Situation) -> Option<Bundle<'a>> {
        let target = match self.installed.rules {
            OlmRules::V0 => self.solved(situation),
            OlmRules::V1 => self.resolved(situation),
        };
        let openshift = self.platform(situation.0).openshift;
        let kubernetes = openshift.map(|version| {
            format!("1.{}", version.minor() + 13)
                .parse()
                .expect("it is a version")
        });
        // The highest version of Kubernetes does not keep OLM from installing.
        let is_new_enough = |bundle: &Bundle<'_>| {
            let minimum = bundle.platforms().min_kubernetes;
            let has = kubernetes.zip(minimum);
            has.is_none_or(|(has, minimum): (fbc::PlatformVersion, _)| has.compare(minimum).is_ge())
        };
        target.filter(is_new_enough)
    }

    /// What a Subscription gets, by the solver of dependencies.
    fn solved(&self, situation: &Situation) -> Option<Bundle<'a>> {
        let package = self.package(situation.0)?;
        let channels = self.channels(situation);
        let subscribed = SubscribedBundle {
            package: self.installed.package,
            name: &situation.2,
            version: self.version(situation).unwrap_or_default(),
            channel: &channels[0],
        };
        package.bundle(&solved(subscribed, self.content(situation.0))?)
    }

    fn resolved(&self, situation: &Situation) -> Option<Bundle<'a>> {
        let labels = BTreeMap::new();
        let offers = [Offer {
            name: "catalog",
            priority: 0,
            labels: &labels,
            content: Ok(self.content(situation.0)),
        }];
        let channels = self.channels(situation);
        let channels: Vec<_> = channels.iter().map(String::as_str).collect();
        let request = ResolutionRequest {
            package: self.installed.package,
            version: self.installed.version_range,
            channels: &channels,
            installed: Some(InstalledBundle {
                name: &situation.2,
                version: self.version(situation)?,
                release: None,
            }),
            ..ResolutionRequest::default()
        };
        let resolved = resolve(&request, &offers, &Work::unlimited());
        let name = resolved.expect("the work is not limited").ok()?.bundle;
        let name = name.name().to_owned();
        self.package(situation.0)?
            .bundle(&name)
            .filter(|bundle| bundle.name() != situation.2)
    }

    fn is_attached(&self, situation: &Situation) -> bool {
        if situation.0 == 0 {
            return true;
        }
        let Some(package) = self.package(situation.0) else {
            return false;
        };
        let channels = self.channels(situation);
        let has_channel = channels.iter().any(|name| package.channel(name).is_some());
        if !channels.is_empty() && !has_channel {
            return false;
        }
        let own = package.bundle(&situation.2);
        let is_there = own.is_some_and(|bundle| {
            channels.is_empty()
                || bundle
                    .channel_entries()
                    .any(|entry| channels.contains(&entry.channel().name().to_owned()))
        });
        let work = Work::unlimited();
        let leads_on = match self.installed.rules {
            OlmRules::V0 => self.solved(situation).is_some(),
            OlmRules::V1 => !successors(package, &self.as_installed(situation), &channels, &work)
                .expect("the work is not limited")
                .is_empty(),
        };
        is_there || leads_on
    }

    fn runs_on(&self, situation: &Situation, step: usize) -> bool {
        let Some(bundle) = self.bundle(situation) else {
            return true;
        };
        let openshift = self.platform(step).openshift;
        let platform = Platform {
            openshift,
            kubernetes: None,
            architecture: None,
        };
        let kubernetes: Option<fbc::PlatformVersion> =
            openshift.and_then(|version| format!("1.{}", version.minor() + 13).parse().ok());
        let minimum = bundle.platforms().min_kubernetes;
        bundle
            .runs_on(&platform, &Work::unlimited())
            .expect("the work is not limited")
            && kubernetes
                .zip(minimum)
                .is_none_or(|(has, minimum)| has.compare(minimum).is_ge())
    }

    /// All moves from a situation, with their prices.
    fn moves(&self, situation: &Situation) -> Vec<(Situation, Price)> {
        let (step, catalog, name, channel) = situation.clone();
        let is_manual =
            self.installed.approval == Approval::Manual && self.installed.rules == OlmRules::V0;
        let mut moves = Vec::new();
        let is_last = step + 1 == self.request.steps.len();
        if !is_last && self.is_attached(situation) && self.runs_on(situation, step + 1) {
            moves.push((
                (step + 1, catalog, name.clone(), channel.clone()),
                [0, 0, 0],
            ));
        }
        if let Some(bundle) = self.upgrade(situation) {
            let next = (step, Some(step), bundle.name().to_owned(), channel.clone());
            moves.push((next, [0, usize::from(is_manual), 1]));
        }
        let named = self.channels(situation);
        let channels = self.package(step).into_iter().flat_map(Package::channels);
        for other in channels.map(fbc::Channel::name) {
            let next = (step, catalog, name.clone(), Some(other.to_owned()));
            let leads = self.is_listed(&next, other);
            if !named.is_empty() && named != [other] && leads {
                moves.push((next, [1, 0, 0]));
            }
        }
        moves
    }

    /// Tells whether a channel has the installed bundle or an upgrade from it.
    fn is_listed(&self, situation: &Situation, channel: &str) -> bool {
        let package = self.package(situation.0).expect("it has the channel");
        let has = package.bundle(&situation.2).is_some_and(|bundle| {
            bundle
                .channel_entries()
                .any(|entry| entry.channel().name() == channel)
        });
        let work = Work::unlimited();
        has || match self.installed.rules {
            OlmRules::V0 => self.solved(situation).is_some(),
            OlmRules::V1 => !successors(package, &self.as_installed(situation), &[channel], &work)
                .expect("the work is not limited")
                .is_empty(),
        }
    }

    /// The step that bars a situation in which nothing more is done.
    fn barred(&self, situation: &Situation) -> usize {
        let mut at = situation.clone();
        loop {
            if !self.is_attached(&at) {
                return at.0;
            }
            if at.0 + 1 == self.request.steps.len() {
                return self.request.steps.len();
            }
            if !self.runs_on(&at, at.0 + 1) {
                return at.0 + 1;
            }
            at.0 += 1;
        }
    }

    fn search(&self) -> Found {
        if self.package(0).is_none() {
            return Found::Unknown;
        }
        let name = self.installed.name.expect("it is named").to_owned();
        let mut prices = BTreeMap::from([((0, None, name, None), [0, 0, 0])]);
        let mut changed: BTreeSet<Situation> = prices.keys().cloned().collect();
        while let Some(situation) = changed.pop_first() {
            let price = prices[&situation];
            for (next, added) in self.moves(&situation) {
                let price: Price = std::array::from_fn(|at| price[at] + added[at]);
                if prices.get(&next).is_none_or(|known| price < *known) {
                    prices.insert(next.clone(), price);
                    changed.insert(next);
                }
            }
        }
        let last = self.request.steps.len() - 1;
        let ends = prices
            .iter()
            .filter(|(situation, _)| situation.0 == last && self.is_attached(situation));
        let ends: Vec<_> = ends.collect();
        let Some(price) = ends.iter().map(|(_, price)| **price).min() else {
            let barred = prices.keys().map(|situation| self.barred(situation)).max();
            return Found::Blocked(barred.expect("the start is a situation"));
        };
        let cheapest = ends.iter().filter(|(_, one)| **one == price);
        let mut versions: Vec<_> = cheapest
            .map(|(situation, _)| self.version(situation).unwrap_or_default())
            .collect();
        versions.sort_by(|one, other| {
            let parse = |text| fbc_grammar::version::VersionRelease::parse(text, None).ok();
            match (parse(one), parse(other)) {
                (Some(one), Some(other)) => one.precedence(&other),
                (one, other) => one.is_some().cmp(&other.is_some()),
            }
        });
        Found::Way(price, versions.pop().unwrap_or_default().to_owned())
    }
}

/// Searches without pruning.
pub(crate) fn search(request: &PlatformUpgradeRequest<'_>, at: usize) -> Found {
    let installed = &request.installed[at];
    NaiveSearch { request, installed }.search()
}

/// Reads a plan as the result of a search.
pub(crate) fn found(plan: &PackagePlan<'_>) -> Found {
    match (&plan.block, plan.verdict) {
        (_, UpgradeVerdict::Unknown) => Found::Unknown,
        (Some(block), _) => Found::Blocked(block.step),
        (None, _) => {
            let upgrades = plan
                .moves
                .iter()
                .filter(|one| one.kind == MoveKind::Upgrade);
            let approvals = upgrades
                .clone()
                .filter(|one| one.approval == Approval::Manual);
            let price = [
                plan.moves.len() - upgrades.clone().count(),
                approvals.count(),
                upgrades.count(),
            ];
            Found::Way(price, plan.final_version.unwrap_or_default().to_owned())
        }
    }
}

/// Makes the catalog of one version of `OpenShift`: some bundles and channels of a package.
pub(crate) fn made_catalog(random: &mut fastrand::Rng, minor: usize) -> String {
    if random.u8(..20) == 0 {
        return "package q default=a\nchannel a: v1.0.0".to_owned();
    }
    let versions: Vec<usize> = (0..7).filter(|_| random.u8(..4) > 0).collect();
    let names = ["stable", "fast", "4.16", "4.17"];
    let channels: Vec<_> = names.into_iter().filter(|_| random.bool()).collect();
    let default = channels.first().copied().unwrap_or("stable");
    let mut text = format!("package p default={default}\n");
    for channel in &channels {
        let mut entries = Vec::new();
        let mut former: Option<usize> = None;
        for &version in &versions {
            if random.u8(..3) == 0 {
                continue;
            }
            let mut entry = format!(r#"{{"name":"p.v1.{version}.0""#);
            if let Some(former) = former.filter(|_| random.u8(..4) > 0) {
                write!(entry, r#","replaces":"p.v1.{former}.0""#).expect("a string takes all");
            }
            if random.u8(..4) == 0 {
                let low = random.usize(..=version);
                write!(entry, r#","skipRange":">=1.{low}.0 <1.{version}.0""#)
                    .expect("a string takes all");
            }
            if random.u8(..4) == 0 {
                let skipped = random.usize(..7);
                write!(entry, r#","skips":["p.v1.{skipped}.0"]"#).expect("a string takes all");
            }
            entries.push(entry + "}");
            former = Some(version);
        }
        writeln!(
            text,
            r#"{{"entries":[{}],"name":"{channel}","package":"p","schema":"olm.channel"}}"#,
            entries.join(",")
        )
        .expect("a string takes all");
    }
    for version in versions {
        let max = match random.u8(..3) {
            0 => String::new(),
            _ => format!(
                r#",{{"type":"olm.maxOpenShiftVersion","value":"4.{}"}}"#,
                (minor + random.usize(..3)).max(16)
            ),
        };
        let csv = match random.u8(..4) {
            0 => format!(
                r#",{{"type":"olm.csv.metadata","value":{{"minKubeVersion":"1.{}.0"}}}}"#,
                27 + random.usize(..5)
            ),
            _ => String::new(),
        };
        writeln!(
            text,
            r#"{{"image":"a.io/p:{version}","name":"p.v1.{version}.0","package":"p","properties":[{{"type":"olm.package","value":{{"packageName":"p","version":"1.{version}.0"}}}}{max}{csv}],"schema":"olm.bundle"}}"#
        )
        .expect("a string takes all");
    }
    text
}

#[test]
fn the_walk_agrees_with_a_search_of_all_states_over_made_catalogs() {
    let mut verdicts = BTreeMap::new();
    for seed in 0..1_500 {
        let mut random = fastrand::Rng::with_seed(seed);
        let count = random.usize(2..=4);
        let fixtures: Vec<_> = (16..16 + count)
            .map(|minor| made_catalog(&mut random, minor))
            .collect();
        let fixtures: Vec<_> = fixtures.iter().map(String::as_str).collect();
        let world = World::openshift(&fixtures);
        let names: Vec<_> = (0..7).map(|version| format!("p.v1.{version}.0")).collect();
        let installed = |random: &mut fastrand::Rng| {
            let name = names[random.usize(..names.len())].as_str();
            let channel = ["", "stable", "fast", "4.16"][random.usize(..4)];
            ClusterBundle {
                approval: [Approval::Automatic, Approval::Manual][random.usize(..2)],
                rules: [OlmRules::V0, OlmRules::V0, OlmRules::V1][random.usize(..3)],
                ..crate::world::installed(name, channel)
            }
        };
        let request = world.request((0..3).map(|_| installed(&mut random)).collect());
        let plan = planned(&request);
        for (at, plan) in plan.packages.iter().enumerate() {
            let expected = search(&request, at);
            assert_eq!(
                found(plan),
                expected,
                "seed {seed}: {} for {:?}\n{}",
                said(plan),
                request.installed[at],
                fixtures.join("\n---\n")
            );
            *verdicts.entry(plan.verdict).or_insert(0) += 1;
        }
    }
    // Each verdict is tried.
    assert_eq!(verdicts.len(), 5, "{verdicts:?}");
    assert!(verdicts.values().all(|count| *count > 50), "{verdicts:?}");
}
