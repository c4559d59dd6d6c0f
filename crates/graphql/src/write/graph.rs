//! `UpdateGraph`, `UpdateEdge`, and the fields about upgrades of `Package` and `Bundle`.

use fbc::catalog::{Bundle, Head, Package};
use fbc::graph::{Installed, UpdateEdge, UpdateGraph, successors};
use fbc::work::Step;

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::coercion::StringSet;
use crate::fields::{UpdateEdgeField, UpdateGraphField};

/// The type `UpdateGraph`, for a package of a catalog.
#[derive(Clone, Copy)]
struct UpdateGraphObject<'g, 'a>(InCatalog<'a, &'g UpdateGraph<'a>>);

/// Returns the argument `channels` of a field; empty selects every channel.
fn channels<'a>(field: &'a PlannedField<'a>) -> Vec<&'a str> {
    arguments(field).strings("channels").into_iter().flat_map(StringSet::iter).collect()
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
        let [name, version] = ["name", "version"].map(|key| installed[key].as_str().unwrap_or_default());
        self.work.draw(Step::ParsedByte, version.len())?;
        match Installed::parse(name, version, installed["release"].as_str()) {
            Ok(installed) => {
                let bundles = successors(package.item, &installed, &channels(field), self.work)?;
                self.object_list(bundles.into_iter().map(|bundle| package.with(bundle)), field)
            }
            Err(error) => self.bad_user_input(field, format!("`of` is malformed: {error}")),
        }
    }

    /// `Bundle.successors`.
    pub(super) fn successors_of_bundle(
        &mut self,
        bundle: InCatalog<'a, Bundle<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let installed = Installed::from_bundle(bundle.item);
        let bundles = successors(bundle.item.package(), &installed, &channels(field), self.work)?;
        self.object_list(bundles.into_iter().map(|item| bundle.with(item)), field)
    }

    /// `Bundle.upgradePath`.
    pub(super) fn upgrade_path(
        &mut self,
        bundle: InCatalog<'a, Bundle<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let package = bundle.item.package();
        let target = match arguments(field).string("to") {
            Some(name) => package.bundle(name),
            None => default_head(package),
        };
        let path = match target {
            Some(target) => {
                UpdateGraph::new(package, &channels(field), self.work)?.path(bundle.item, target, self.work)?
            }
            None => None,
        };
        let Some(path) = path else {
            self.null();
            return Ok(());
        };
        self.object_list(path.into_iter().map(|item| bundle.with(item)), field)
    }
}

/// Returns the bundle at the head of the default channel.
fn default_head(package: Package<'_>) -> Option<Bundle<'_>> {
    match package.default_channel()?.head() {
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
        match name {
            UpdateGraphField::Nodes => writer.object_list(graph.item.nodes().map(|bundle| graph.with(bundle)), field),
            UpdateGraphField::Edges => {
                let work = writer.work;
                // Most edges may be left out, so that each is drawn, and not only those that are written.
                let drawn = graph.item.edges().take_while(|_| work.draw(Step::Edge, 2).is_ok());
                let edges = drawn.filter_map(|edge| {
                    let (from, target) = edge.from_bundle.zip(edge.to.bundle())?;
                    graph.item.has(from).then_some(UpdateEdgeObject { edge: graph.with(edge), from, target })
                });
                writer.object_list(edges, field)?;
                Ok(work.draw(Step::Edge, 0)?)
            }
        }
    }
}

/// The type `UpdateEdge`, for an edge between two bundles of the catalog.
#[derive(Clone, Copy)]
struct UpdateEdgeObject<'a> {
    edge: InCatalog<'a, UpdateEdge<'a>>,
    from: Bundle<'a>,
    target: Bundle<'a>,
}

impl<'a> Object<'a> for UpdateEdgeObject<'a> {
    type Field = UpdateEdgeField;

    fn write(self, name: UpdateEdgeField, field: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        let Self { edge, from, target } = self;
        match name {
            UpdateEdgeField::From => return writer.object(edge.with(from), field),
            UpdateEdgeField::To => return writer.object(edge.with(target), field),
            UpdateEdgeField::Channel => return writer.object(edge.with(edge.item.to.channel()), field),
            UpdateEdgeField::Reason => writer.static_string(edge.item.reason.as_str()),
        }
        Ok(())
    }
}
