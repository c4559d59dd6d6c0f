//! `UpdateGraph`, `UpdateEdge`, `SkipRange`, and the fields about upgrades of `Package` and
//! `Bundle`.

use fbc::work::{Step, WorkStopped};
use fbc::{Bundle, Channel, Head, Package};
use fbc_graph::graph::{
    BundleSpan, Installed, Reason, SkipRange, UpdateGraph, Upgrade, upgrades_from,
};

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::coercion::StringSet;
use crate::fields::{BundleSpanField, SkipRangeField, UpdateEdgeField, UpdateGraphField};
use crate::filter::{self, FilterError};
use crate::input;

/// The type `UpdateGraph`, for a package of a catalog.
#[derive(Clone, Copy)]
struct UpdateGraphObject<'g, 'a>(InCatalog<'a, &'g UpdateGraph<'a>>);

/// The type `SkipRange`, with the graph that it belongs to.
#[derive(Clone, Copy)]
struct SkipRangeObject<'g, 'a>(InCatalog<'a, (&'g UpdateGraph<'a>, &'g SkipRange<'a>)>);

/// Returns the argument `channels` of a field; empty selects every channel.
fn channels<'a>(field: &'a PlannedField<'a>) -> Vec<&'a str> {
    arguments(field)
        .strings("channels")
        .into_iter()
        .flat_map(StringSet::iter)
        .collect()
}

impl<'a> ResponseWriter<'a> {
    /// `Package.updateGraph`.
    pub(super) fn update_graph(
        &mut self,
        package: InCatalog<'a, Package<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let graph = UpdateGraph::new(package.item, &channels(field), self.work)?;
        self.object(UpdateGraphObject(package.with(&graph)), field)
    }

    /// `Package.successors`.
    pub(super) fn successors_of_installed(
        &mut self,
        package: InCatalog<'a, Package<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let installed = arguments(field).get("of");
        let [name, version] =
            ["name", "version"].map(|key| installed[key].as_str().unwrap_or_default());
        self.work.draw(Step::ParsedByte, version.len())?;
        match Installed::parse(name, version, installed["release"].as_str()) {
            Ok(installed) => {
                let upgrades =
                    upgrades_from(package.item, &installed, &channels(field), self.work)?;
                self.compatible_upgrades(package, upgrades, field)
            }
            Err(error) => self.bad_user_input(field, format!("`of` is malformed: {error}")),
        }
    }

    /// `Bundle.successors`.
    pub(super) fn bundle_successors(
        &mut self,
        bundle: InCatalog<'a, Bundle<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let installed = Installed::from_bundle(bundle.item);
        let upgrades = upgrades_from(
            bundle.item.package(),
            &installed,
            &channels(field),
            self.work,
        )?;
        self.compatible_upgrades(bundle, upgrades, field)
    }

    /// Writes upgrades in a catalog: those to bundles that run on the platform of the argument
    /// `compatibleWith`.
    pub(super) fn compatible_upgrades<T: Copy>(
        &mut self,
        owner: InCatalog<'a, T>,
        mut upgrades: Vec<Upgrade<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        match filter::platform(input::read(arguments(field).get("compatibleWith"))) {
            Ok(Some(platform)) => {
                let mut compatible = Vec::with_capacity(upgrades.len());
                for upgrade in upgrades {
                    if upgrade
                        .to_bundle
                        .map_or(Ok(false), |bundle| bundle.runs_on(&platform, self.work))?
                    {
                        compatible.push(upgrade);
                    }
                }
                upgrades = compatible;
            }
            Ok(None) => {}
            Err(error) => return self.bad_user_input(field, FilterError::from(error).to_string()),
        }
        self.object_list(upgrades.iter().map(|upgrade| owner.with(upgrade)), field)
    }

    /// `Bundle.predecessors`.
    pub(super) fn bundle_predecessors(
        &mut self,
        bundle: InCatalog<'a, Bundle<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let graph = UpdateGraph::new(bundle.item.package(), &channels(field), self.work)?;
        let upgrades = graph.upgrades_to(bundle.item, self.work)?;
        self.object_list(upgrades.iter().map(|upgrade| bundle.with(upgrade)), field)
    }

    /// `Bundle.upgradePath`.
    pub(super) fn upgrade_path(
        &mut self,
        bundle: InCatalog<'a, Bundle<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let package = bundle.item.package();
        let channels = channels(field);
        let target = match (arguments(field).string("to"), &*channels) {
            (Some(name), _) => package.bundle(name),
            (None, [channel]) => package.channel(channel).and_then(head),
            (None, _) => default_head(package),
        };
        let path = match target {
            Some(target) => self.find_path(bundle.item, target, &channels)?,
            None => None,
        };
        let Some(path) = path else {
            self.null();
            return Ok(());
        };
        self.object_list(path.iter().map(|upgrade| bundle.with(upgrade)), field)
    }

    fn find_path(
        &self,
        from: Bundle<'a>,
        to: Bundle<'a>,
        channels: &[&str],
    ) -> Result<Option<Vec<Upgrade<'a>>>, WorkStopped> {
        let graph = UpdateGraph::new(from.package(), channels, self.work)?;
        let Some(path) = graph.path(from, to, self.work)? else {
            return Ok(None);
        };
        path.windows(2)
            .map(|step| graph.upgrade(step[0], step[1], self.work))
            .collect::<Result<_, _>>()
            .map(Some)
    }
}

/// Returns the bundle at the head of the default channel.
pub(super) fn default_head(package: Package<'_>) -> Option<Bundle<'_>> {
    head(package.default_channel()?)
}

/// Returns the bundle at the head of a channel.
fn head(channel: Channel<'_>) -> Option<Bundle<'_>> {
    match channel.head() {
        Head::One(entry) => entry.bundle(),
        Head::None | Head::Several => None,
    }
}

impl<'a> Object<'a> for UpdateGraphObject<'_, 'a> {
    type Field = UpdateGraphField;

    fn write(
        self,
        name: UpdateGraphField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self(graph) = self;
        let upgrades = match name {
            UpdateGraphField::Nodes => {
                return writer
                    .object_list(graph.item.nodes().map(|bundle| graph.with(bundle)), field);
            }
            UpdateGraphField::SkipRanges => {
                let ranges = graph.item.skip_ranges(writer.work)?;
                let ranges = ranges
                    .iter()
                    .map(|range| SkipRangeObject(graph.with((graph.item, range))));
                return writer.object_list(ranges, field);
            }
            UpdateGraphField::Replaces => graph.item.replaces(writer.work)?,
            UpdateGraphField::Skips => graph.item.skips(writer.work)?,
        };
        writer.object_list(upgrades.iter().map(|upgrade| graph.with(upgrade)), field)
    }
}

impl<'a> Object<'a> for InCatalog<'a, &Upgrade<'a>> {
    type Field = UpdateEdgeField;

    fn write(
        self,
        name: UpdateEdgeField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let upgrade = self.item;
        let bundle = match name {
            UpdateEdgeField::From => upgrade.from_bundle,
            UpdateEdgeField::To => upgrade.to_bundle,
            UpdateEdgeField::FromName => {
                writer.string(upgrade.from);
                return Ok(());
            }
            UpdateEdgeField::ToName => {
                writer.string(upgrade.to);
                return Ok(());
            }
            UpdateEdgeField::Reasons => {
                writer.strings(upgrade.reasons.iter().map(Reason::as_str));
                return Ok(());
            }
            UpdateEdgeField::ChannelNames => {
                writer.strings(upgrade.channels.iter().copied());
                return Ok(());
            }
        };
        writer.optional_object(bundle.map(|bundle| self.with(bundle)), field)
    }
}

impl<'a> Object<'a> for SkipRangeObject<'_, 'a> {
    type Field = SkipRangeField;

    fn write(
        self,
        name: SkipRangeField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self(object) = self;
        let (graph, range) = object.item;
        match name {
            SkipRangeField::Range => writer.string(range.range),
            SkipRangeField::IsValid => writer.boolean(range.is_valid),
            SkipRangeField::ToName => writer.string(range.to),
            SkipRangeField::To => {
                return writer
                    .optional_object(range.to_bundle.map(|bundle| object.with(bundle)), field);
            }
            SkipRangeField::ChannelNames => writer.strings(range.channels.iter().copied()),
            SkipRangeField::FromCount => writer.count(graph.count_from(range)),
            SkipRangeField::Spans => {
                return writer.object_list(graph.spans(range).map(|span| object.with(span)), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InCatalog<'a, BundleSpan<'a>> {
    type Field = BundleSpanField;

    fn write(
        self,
        name: BundleSpanField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let bundle = match name {
            BundleSpanField::Highest => self.item.highest,
            BundleSpanField::Lowest => self.item.lowest,
            BundleSpanField::Count => {
                writer.count(self.item.count);
                return Ok(());
            }
        };
        writer.object(self.with(bundle), field)
    }
}
