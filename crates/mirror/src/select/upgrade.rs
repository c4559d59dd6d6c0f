//! Selects what upgrades from installed bundles need of a channel, by the rules of OLM v0.

use fbc::work::{Step, WorkStopped};
use fbc::{Bundle, ChannelEntry, Package};
use fbc_grammar::version::Version;
use fbc_graph::graph::{Installed, UpdateGraph};
use hashbrown::HashSet;

use super::{Candidate, ChannelNames, MirrorReason, ReasonKind, Selector};
use crate::channel::ChannelGraph;
use crate::need::{InstalledText, PackageNeed};
use crate::problem::MirrorProblemCode;

/// The channel in which upgrades are looked for.
struct UpgradeChannel<'a> {
    graph: ChannelGraph<'a>,
    updates: UpdateGraph<'a>,
    target: Bundle<'a>,
}

/// Bundles that one installed bundle needs.
struct UpgradeWay<'a> {
    /// The installed bundle; `None` if the catalog does not have it.
    installed: Option<Bundle<'a>>,
    /// Bundles after each upgrade.
    steps: Vec<Bundle<'a>>,
}

impl<'a, 's> Selector<'a, 's, '_> {
    /// Returns the names that upgrades need of a channel; `None` for a fault.
    pub(super) fn upgrade_names(
        &mut self,
        candidate: &mut Candidate<'a, 's>,
        at: usize,
        need: &PackageNeed,
    ) -> Result<Option<ChannelNames<'a>>, WorkStopped> {
        let Some(graph) = self.channel_graph(candidate, at)? else {
            return Ok(None);
        };
        let channel = candidate.channels[at].channel;
        let nothing = ChannelNames {
            names: Vec::new(),
            is_kept_empty: false,
        };
        let target = match &need.to {
            Some(text) => {
                let Some(named) = self.named_target(candidate, at, text)? else {
                    return Ok(None);
                };
                Some(named)
            }
            None => graph
                .highest(|name| candidate.allows(name))
                .and_then(ChannelEntry::bundle),
        };
        let Some(target) = target else {
            return Ok(Some(nothing));
        };
        let updates = UpdateGraph::new(candidate.package, &[channel.name()], self.work)?;
        let is_head = target.name() == graph.head().name() || need.to.is_none();
        let target_kind = if is_head {
            ReasonKind::Head
        } else {
            ReasonKind::OnTheWay
        };
        let upgrade = UpgradeChannel {
            graph,
            updates,
            target,
        };

        let mut names = vec![(target.name(), target_kind)];
        let mut installed = Vec::new();
        for from in &need.from {
            let Some(way) = self.way(candidate, &upgrade, from)? else {
                self.refuse_stranded(candidate, at, &upgrade, from)?;
                continue;
            };
            let between = way.steps.iter().filter(|step| step.name() != target.name());
            names.extend(between.map(|step| (step.name(), ReasonKind::OnTheWay)));
            installed.extend(way.installed);
        }
        names.sort_unstable();
        names.dedup();
        self.connect(&upgrade.graph, &mut names)?;
        self.add_installed(candidate, &upgrade.graph, &installed, &mut names)?;
        Ok(Some(ChannelNames {
            names,
            is_kept_empty: false,
        }))
    }

    /// Finds the bundle to upgrade to in a channel; `None` for a fault.
    fn named_target(
        &mut self,
        candidate: &Candidate<'a, 's>,
        at: usize,
        text: &str,
    ) -> Result<Option<Bundle<'a>>, WorkStopped> {
        let channel = candidate.channels[at].channel;
        self.work.draw(Step::Comparison, channel.entries().len())?;
        let mut bundles = channel.entries().filter_map(ChannelEntry::bundle);
        let named = bundles.find(|bundle| is_named(*bundle, text));
        if named.is_none() {
            let message = format!(
                "channel `{}` of package `{}` has no bundle `{text}`",
                channel.name(),
                candidate.package.name()
            );
            self.refuse(MirrorProblemCode::VersionNotFound, candidate, at, message);
        }
        Ok(named)
    }

    /// Adds the names without which the channel would not be valid.
    fn connect(
        &self,
        graph: &ChannelGraph<'a>,
        names: &mut Vec<(&'a str, ReasonKind)>,
    ) -> Result<(), WorkStopped> {
        let wanted: HashSet<&str> = names.iter().map(|(name, _)| *name).collect();
        // What nothing leads to is judged as part of the catalog.
        let connecting = graph.connecting(&wanted, self.work)?.unwrap_or_default();
        let connecting = connecting.into_iter();
        names.extend(connecting.map(|name| (name, ReasonKind::OnTheWay)));
        Ok(())
    }

    /// Adds installed bundles: as entries, if the channel stays valid, or else only as bundles,
    /// whose images the cluster may have to pull again.
    fn add_installed(
        &self,
        candidate: &mut Candidate<'a, 's>,
        graph: &ChannelGraph<'a>,
        installed: &[Bundle<'a>],
        names: &mut Vec<(&'a str, ReasonKind)>,
    ) -> Result<(), WorkStopped> {
        for bundle in installed {
            let name = bundle.name();
            let mut wanted: HashSet<&str> = names.iter().map(|(name, _)| *name).collect();
            wanted.insert(name);
            let is_entry = graph.entry(name).is_some();
            let connecting = graph.connecting(&wanted, self.work)?;
            if is_entry && connecting.is_some_and(|others| others.is_empty()) {
                names.push((name, ReasonKind::Installed));
                continue;
            }
            let reasons = candidate.names.get_or_insert_default();
            reasons.entry(name).or_default().push(MirrorReason {
                kind: ReasonKind::Installed,
                channel: None,
                required_by: None,
            });
        }
        Ok(())
    }

    /// Finds the upgrades from an installed bundle; `None` if there are none.
    fn way(
        &self,
        candidate: &Candidate<'a, 's>,
        upgrade: &UpgradeChannel<'a>,
        from: &InstalledText,
    ) -> Result<Option<UpgradeWay<'a>>, WorkStopped> {
        let package = candidate.package;
        self.work.draw(Step::Comparison, package.bundles().len())?;
        let bundle = find_installed(package, from);
        let installed = installed(bundle, from);
        let is_allowed = |bundle: Bundle<'_>| candidate.allows(bundle.name());
        let steps = upgrade.updates.path_from_installed(
            &installed,
            upgrade.target,
            &is_allowed,
            self.work,
        )?;
        Ok(steps.map(|steps| UpgradeWay {
            installed: bundle,
            steps,
        }))
    }

    fn refuse_stranded(
        &mut self,
        candidate: &Candidate<'a, 's>,
        at: usize,
        upgrade: &UpgradeChannel<'a>,
        from: &InstalledText,
    ) -> Result<(), WorkStopped> {
        let package = candidate.package;
        let installed = installed(find_installed(package, from), from);
        let unreachable = upgrade.updates.unreachable(&installed, self.work)?;
        let unreachable: HashSet<&str> = unreachable.into_iter().map(Bundle::name).collect();
        let is_reached = |bundle: &Bundle<'_>| {
            let name = bundle.name();
            !unreachable.contains(name) && candidate.allows(name) && name != installed.name
        };
        let nearest = match upgrade.updates.nodes().find(is_reached) {
            Some(bundle) => format!("the nearest bundle that they reach is `{}`", bundle.name()),
            None => "it has no upgrades there".to_owned(),
        };
        let platform = if candidate.compatible.is_some() {
            " through bundles that run on the platform"
        } else {
            ""
        };
        let message = format!(
            "no upgrades of channel `{}` of package `{}` lead from `{}` to `{}`{platform}: {nearest}",
            candidate.channels[at].channel.name(),
            package.name(),
            from.text,
            upgrade.target.name(),
        );
        self.refuse(MirrorProblemCode::Stranded, candidate, at, message);
        Ok(())
    }
}

/// Tells whether a text is the name or the version of a bundle.
fn is_named(bundle: Bundle<'_>, text: &str) -> bool {
    let wanted = Version::parse(text.trim_start_matches('v')).ok();
    let version = bundle.version().and_then(|text| Version::parse(text).ok());
    bundle.name() == text || wanted.is_some() && version == wanted
}

/// Finds an installed bundle by its name, or else by its version.
fn find_installed<'a>(package: Package<'a>, from: &InstalledText) -> Option<Bundle<'a>> {
    let named = package.bundle(&from.name);
    let version = from.version.as_deref().filter(|_| from.name.is_empty());
    named.or_else(|| {
        let version = version?;
        package.bundles().find(|bundle| is_named(*bundle, version))
    })
}

/// Returns an installed bundle as the catalog has it, or else as it was written.
fn installed<'i>(bundle: Option<Bundle<'i>>, from: &'i InstalledText) -> Installed<'i> {
    if let Some(bundle) = bundle {
        return Installed::from_bundle(bundle);
    }
    let version = from.version.as_deref().unwrap_or_default();
    let parsed = Installed::parse(&from.name, version, None);
    parsed.unwrap_or(Installed {
        name: &from.name,
        version: None,
    })
}
