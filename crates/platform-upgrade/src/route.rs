//! Way of an installed bundle through the steps: the catalogs that count for it, their channels, and
//! the upgrades from a bundle in a channel.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use fbc::work::{Step, Work, WorkStopped, sort_steps};
use fbc::{Bundle, Channel, Package, PlatformVersion};
use fbc_grammar::range::BlangRange;
use fbc_grammar::version::VersionRelease;
use fbc_graph::channel_order::{ChainEntry, sort_channel};
use fbc_graph::graph::{Installed, successors};
use fbc_graph::resolve::{InstalledBundle, Offer, ResolutionRequest, resolve};
use hashbrown::{HashMap, HashSet};

use crate::limits::{BlockCause, SupportLimits, is_installable};
use crate::request::{ClusterBundle, OlmRules, PlatformStep, PlatformUpgradeRequest, StepCatalog};

/// A bundle that is installed in some states.
pub(crate) struct WalkNode<'a> {
    pub(crate) name: &'a str,
    pub(crate) version_text: Option<&'a str>,
    pub(crate) version: Option<VersionRelease<'a>>,
    /// The bundle in the catalog that it was installed from; `None` when no catalog has it.
    pub(crate) bundle: Option<StepBundle<'a>>,
    pub(crate) limits: SupportLimits,
}

/// The channel that a state follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ChannelChoice<'a> {
    /// Channels that the cluster names now: one, several, or none.
    Given,
    /// A channel that was switched to.
    Switched(&'a str),
}

/// A bundle in a catalog of a step.
#[derive(Clone, Copy)]
pub struct StepBundle<'a> {
    /// Index of the step.
    pub step: usize,
    /// Index of the catalog in the step.
    pub catalog: usize,
    /// The bundle.
    pub bundle: Bundle<'a>,
}

/// The way of one installed bundle through the steps.
pub(crate) struct Route<'r, 'a> {
    pub(crate) installed: &'r ClusterBundle<'a>,
    pub(crate) places: Vec<RouteStep<'r, 'a>>,
    pub(crate) work: &'r Work<'r>,
}

/// A step of a way.
pub(crate) struct RouteStep<'r, 'a> {
    pub(crate) step: &'r PlatformStep<'a>,
    /// The package in the catalogs that count: the one of a Subscription, or all of a
    /// `ClusterExtension`, with the index of each catalog in the step.
    pub(crate) packages: Vec<(usize, Package<'a>)>,
    channels: RefCell<HashMap<&'a str, Option<Rc<ChannelEdges<'a>>>>>,
    ranges: RefCell<HashMap<&'a str, Option<Rc<BlangRange>>>>,
    lifecycles: OnceCell<HashMap<String, Arc<[PlatformVersion]>>>,
}

/// Upgrades to the entries of a channel, of which OLM v0 makes the one that is nearest to the head.
struct ChannelEdges<'a> {
    /// Names of the bundles in the channel.
    names: HashSet<&'a str>,
    /// Bundle that replaces or skips a name, with its distance from the head.
    by_name: HashMap<&'a str, (usize, Bundle<'a>)>,
    /// Bundles with well-formed skip ranges, nearest to the head first.
    by_range: Vec<(usize, Rc<BlangRange>, Bundle<'a>)>,
}

impl<'r, 'a> Route<'r, 'a> {
    pub(crate) fn new(
        request: &'r PlatformUpgradeRequest<'a>,
        installed: &'r ClusterBundle<'a>,
        work: &'r Work<'r>,
    ) -> Result<Self, WorkStopped> {
        let present = installed.catalog.and_then(|name| {
            let first = &request.steps.first()?.catalogs;
            first.iter().position(|catalog| catalog.name == name)
        });
        let mut places = Vec::with_capacity(request.steps.len());
        for step in &request.steps {
            work.draw(Step::Comparison, 20 * (1 + step.catalogs.len()))?;
            places.push(RouteStep {
                step,
                packages: packages(step, installed, present),
                channels: RefCell::default(),
                ranges: RefCell::default(),
                lifecycles: OnceCell::new(),
            });
        }
        Ok(Self {
            installed,
            places,
            work,
        })
    }

    /// Returns the names of the channels that a state follows at a step; none for every channel.
    pub(crate) fn channel_names(&self, at: usize, choice: ChannelChoice<'a>) -> Vec<&'a str> {
        match (choice, self.installed.rules) {
            (ChannelChoice::Switched(name), _) => vec![name],
            (ChannelChoice::Given, OlmRules::V1) => self.installed.channels.clone(),
            (ChannelChoice::Given, OlmRules::V0) => {
                let given = self.installed.channels.first().copied();
                let default = || {
                    let (_, package) = self.places[at].packages.first()?;
                    Some(package.default_channel_name())
                };
                given.or_else(default).into_iter().collect()
            }
        }
    }

    /// Returns why a bundle has no way on at a step in a channel: no package, no channel, or
    /// neither the bundle nor an upgrade from it in the channel.
    pub(crate) fn detachment(
        &self,
        at: usize,
        choice: ChannelChoice<'a>,
        node: &WalkNode<'a>,
    ) -> Result<Option<BlockCause>, WorkStopped> {
        let place = &self.places[at];
        if place.packages.is_empty() {
            return Ok(Some(BlockCause::PackageGone));
        }
        let names = self.channel_names(at, choice);
        if self.installed.rules == OlmRules::V0 {
            let Some(edges) = self.edges_of(at, names[0])? else {
                return Ok(Some(BlockCause::ChannelGone));
            };
            let is_attached =
                edges.names.contains(node.name) || edges.upgrade(node, self.work)?.is_some();
            return Ok((!is_attached).then_some(BlockCause::NoEdge));
        }
        self.work.draw(Step::Comparison, 20 * (1 + names.len()))?;
        let has_channel = |(_, package): &(usize, Package<'a>)| {
            names.is_empty() || names.iter().any(|name| package.channel(name).is_some())
        };
        if !place.packages.iter().any(has_channel) {
            return Ok(Some(BlockCause::ChannelGone));
        }
        for (_, package) in &place.packages {
            let own = package.bundle(node.name);
            let is_in_channel = |bundle: Bundle<'_>| {
                names.is_empty()
                    || bundle
                        .channel_entries()
                        .any(|entry| names.contains(&entry.channel().name()))
            };
            if own.is_some_and(is_in_channel)
                || !successors(*package, &node.installed(), &names, self.work)?.is_empty()
            {
                return Ok(None);
            }
        }
        Ok(Some(BlockCause::NoEdge))
    }

    /// Returns the upgrade from a bundle that OLM makes at a step in a channel; `None` if there is
    /// none, or one that cannot be installed there. OLM makes no other one instead.
    pub(crate) fn upgrade(
        &self,
        at: usize,
        choice: ChannelChoice<'a>,
        node: &WalkNode<'a>,
    ) -> Result<Option<StepBundle<'a>>, WorkStopped> {
        let place = &self.places[at];
        let names = self.channel_names(at, choice);
        let target = match self.installed.rules {
            OlmRules::V0 => match (place.packages.first(), names.first()) {
                (Some((catalog, _)), Some(name)) => {
                    let edges = self.edges_of(at, name)?;
                    let bundle = edges.map(|edges| edges.upgrade(node, self.work));
                    let bundle = bundle.transpose()?.flatten();
                    bundle.map(|bundle| StepBundle {
                        step: at,
                        catalog: *catalog,
                        bundle,
                    })
                }
                _ => None,
            },
            OlmRules::V1 => self.resolved(at, &names, node)?,
        };
        Ok(target.filter(|target| is_installable(target.bundle, place.step)))
    }

    /// Returns the bundle that the OLM v1 controller would upgrade to.
    fn resolved(
        &self,
        at: usize,
        names: &[&str],
        node: &WalkNode<'a>,
    ) -> Result<Option<StepBundle<'a>>, WorkStopped> {
        let place = &self.places[at];
        let Some(version) = node.version_text else {
            return Ok(None);
        };
        let mut offers: Vec<_> = place
            .packages
            .iter()
            .filter_map(|(catalog, _)| {
                let StepCatalog {
                    name,
                    priority,
                    labels,
                    content,
                } = place.step.catalogs[*catalog];
                let offer = Offer {
                    name,
                    priority,
                    labels,
                    content: Ok(content?),
                };
                Some((*catalog, offer))
            })
            .collect();
        offers.sort_by_key(|(_, offer)| offer.name);
        let (catalogs, offers): (Vec<_>, Vec<_>) = offers.into_iter().unzip();
        let request = ResolutionRequest {
            package: self.installed.package,
            version: self.installed.version_range,
            channels: names,
            installed: Some(InstalledBundle {
                name: node.name,
                version,
                release: node.bundle.and_then(|placed| placed.bundle.release()),
            }),
            ..ResolutionRequest::default()
        };
        let resolved = resolve(&request, &offers, self.work)?.ok();
        let target = resolved.map(|resolution| StepBundle {
            step: at,
            catalog: catalogs[resolution.offer],
            bundle: resolution.bundle,
        });
        Ok(target.filter(|target| target.bundle.name() != node.name))
    }

    /// Returns the other channels of a step to which a bundle could switch, sorted by name.
    pub(crate) fn switches(
        &self,
        at: usize,
        choice: ChannelChoice<'a>,
        node: &WalkNode<'a>,
    ) -> Result<Vec<&'a str>, WorkStopped> {
        let place = &self.places[at];
        let names = self.channel_names(at, choice);
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let channels = place
            .packages
            .iter()
            .flat_map(|(_, package)| package.channels());
        let mut found: Vec<_> = channels.map(Channel::name).collect();
        self.work.draw(Step::SortStep, sort_steps(found.len()))?;
        found.sort_unstable();
        found.dedup();
        found.retain(|name| names != [*name]);
        let mut switches = Vec::new();
        for name in found {
            if self
                .detachment(at, ChannelChoice::Switched(name), node)?
                .is_none()
            {
                switches.push(name);
            }
        }
        Ok(switches)
    }

    /// Returns the versions of `OpenShift` that the catalogs of a step list for a bundle.
    pub(crate) fn listed(
        &self,
        at: usize,
        node: &WalkNode<'a>,
    ) -> Result<Option<&[PlatformVersion]>, WorkStopped> {
        let place = &self.places[at];
        if place.lifecycles.get().is_none() {
            let mut lifecycles = HashMap::new();
            for (_, package) in &place.packages {
                for lifecycle in package.lifecycle(self.work)? {
                    let versions = lifecycle.openshift_versions();
                    lifecycles
                        .entry(lifecycle.version.decode().into_owned())
                        .or_insert(versions);
                }
            }
            // The cell is empty: nothing else ran since.
            let _ = place.lifecycles.set(lifecycles);
        }
        let lifecycles = place.lifecycles.get();
        Ok(lifecycles
            .zip(node.minor_version())
            .and_then(|(lifecycles, minor)| lifecycles.get(&minor))
            .map(|versions| &**versions))
    }

    /// Returns the upgrades to the entries of a channel, which are read once.
    fn edges_of(
        &self,
        at: usize,
        name: &'a str,
    ) -> Result<Option<Rc<ChannelEdges<'a>>>, WorkStopped> {
        let place = &self.places[at];
        if let Some(edges) = place.channels.borrow().get(name) {
            return Ok(edges.clone());
        }
        let package = place.packages.first();
        let channel = package.and_then(|(_, package)| package.channel(name));
        let edges = match channel {
            Some(channel) => Some(Rc::new(self.read_channel(place, channel)?)),
            None => None,
        };
        place.channels.borrow_mut().insert(name, edges.clone());
        Ok(edges)
    }

    fn read_channel(
        &self,
        place: &RouteStep<'r, 'a>,
        channel: Channel<'a>,
    ) -> Result<ChannelEdges<'a>, WorkStopped> {
        let mut edges = ChannelEdges {
            names: HashSet::new(),
            by_name: HashMap::new(),
            by_range: Vec::new(),
        };
        let mut bundles = Vec::new();
        let mut links = Vec::new();
        for entry in channel.entries() {
            // Its name is hashed five times, here and to order the channel.
            self.work.draw(Step::Edge, 5 + entry.skips().len())?;
            let Some(bundle) = entry.bundle() else {
                continue;
            };
            edges.names.insert(entry.name());
            bundles.push((entry, bundle));
            links.push(ChainEntry {
                name: entry.name(),
                replaces: entry.replaces(),
                skips: entry.skips().collect(),
            });
        }
        // OLM makes no upgrade in a channel without a unique chain of replacements.
        let order = sort_channel(&links, channel.name(), channel.package().name());
        let mut ranges = place.ranges.borrow_mut();
        for (distance, at) in order.unwrap_or_default().into_iter().enumerate() {
            let (entry, bundle) = bundles[at];
            for from in entry.replaces().into_iter().chain(entry.skips()) {
                edges.by_name.entry(from).or_insert((distance, bundle));
            }
            let Some(text) = entry.skip_range() else {
                continue;
            };
            if !ranges.contains_key(text) {
                self.work.draw(Step::ParsedByte, text.len())?;
                ranges.insert(text, BlangRange::parse(text).ok().map(Rc::new));
            }
            let range = ranges.get(text).cloned().flatten();
            edges
                .by_range
                .extend(range.map(|range| (distance, range, bundle)));
        }
        Ok(edges)
    }
}

impl<'a> ChannelEdges<'a> {
    /// Returns the upgrade that OLM v0 makes from a bundle.
    fn upgrade(
        &self,
        node: &WalkNode<'a>,
        work: &Work<'_>,
    ) -> Result<Option<Bundle<'a>>, WorkStopped> {
        work.draw(Step::Comparison, 2 * self.by_range.len())?;
        let named = self.by_name.get(node.name).copied();
        let in_range = node.version.as_ref().and_then(|version| {
            let mut ranges = self.by_range.iter();
            let found = ranges.find(|(_, range, _)| range.contains(&version.version));
            found.map(|(distance, _, bundle)| (*distance, *bundle))
        });
        let candidates = named.into_iter().chain(in_range);
        let nearest = candidates.min_by_key(|(distance, _)| *distance);
        Ok(nearest
            .map(|(_, bundle)| bundle)
            .filter(|bundle| bundle.name() != node.name))
    }
}

impl WalkNode<'_> {
    /// Returns the minor version as life cycles name it, such as `1.2`.
    pub(crate) fn minor_version(&self) -> Option<String> {
        let version = self.version?.version;
        Some(format!("{}.{}", version.major(), version.minor()))
    }
}

impl<'a> WalkNode<'a> {
    pub(crate) fn of_target(
        target: StepBundle<'a>,
        work: &fbc::work::Work<'_>,
    ) -> Result<Self, WorkStopped> {
        let bundle: Bundle<'a> = target.bundle;
        Ok(Self {
            name: bundle.name(),
            version_text: bundle.version(),
            version: Installed::from_bundle(bundle).version,
            bundle: Some(target),
            limits: SupportLimits::of_bundle(bundle, work)?,
        })
    }

    pub(crate) fn installed(&self) -> Installed<'a> {
        Installed {
            name: self.name,
            version: self.version,
        }
    }
}

/// Finds the package of an installed bundle in the catalogs of a step. A Subscription reads one
/// catalog: the one of its name, or of its place in the first step, or else the one with the highest
/// priority. A `ClusterExtension` reads all.
fn packages<'a>(
    step: &PlatformStep<'a>,
    installed: &ClusterBundle<'a>,
    present: Option<usize>,
) -> Vec<(usize, Package<'a>)> {
    let mut found: Vec<_> = step
        .catalogs
        .iter()
        .enumerate()
        .filter_map(|(at, catalog)| Some((at, catalog.content?.package(installed.package)?)))
        .collect();
    if installed.rules == OlmRules::V1 {
        return found;
    }
    let is_named = |at: usize| installed.catalog == Some(step.catalogs[at].name);
    found.sort_by_key(|(at, _)| {
        let priority = std::cmp::Reverse(step.catalogs[*at].priority);
        (!is_named(*at), present != Some(*at), priority, *at)
    });
    found.truncate(1);
    found
}
