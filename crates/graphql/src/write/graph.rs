//! `UpdateGraph`, its edges, and what package and bundle say of upgrades.

use fbc::catalog::{Bundle, Head, Package};
use fbc::graph::{Installed, UpdateEdge, UpdateGraph, successors};

use super::{Field, In, Object, Outcome, READ_BYTES, Writer, arguments};
use crate::coercion::Texts;
use crate::fields::{UpdateEdgeField, UpdateGraphField};

/// The update graph of a package of a catalog.
#[derive(Clone, Copy)]
struct GraphOf<'g, 'a>(In<'a, &'g UpdateGraph<'a>>);

/// The names of the channels that a field asks for; none when it asks for all.
fn channels<'a>(field: &'a Field<'a>) -> Vec<&'a str> {
    arguments(field).texts("channels").into_iter().flat_map(Texts::iter).collect()
}

impl<'a> Writer<'a> {
    /// `Package.updateGraph`.
    pub(super) fn update_graph(&mut self, package: In<'a, Package<'a>>, field: &'a Field<'a>) -> Outcome {
        self.look_at_limits()?;
        let graph = UpdateGraph::new(package.it, &channels(field));
        self.one(GraphOf(package.with(&graph)), field)
    }

    /// `Package.successors`.
    pub(super) fn successors_of_installed(&mut self, package: In<'a, Package<'a>>, field: &'a Field<'a>) -> Outcome {
        self.look_at_limits()?;
        let of = arguments(field).get("of");
        let [name, version] = ["name", "version"].map(|key| of[key].as_str().unwrap_or_default());
        self.count_objects((version.len() / READ_BYTES) as u64)?;
        match Installed::parse(name, version, of["release"].as_str()) {
            Ok(installed) => {
                let bundles = successors(package.it, &installed, &channels(field));
                self.many(bundles.into_iter().map(|bundle| package.with(bundle)), field)
            }
            Err(fault) => self.bad_input(field, format!("`of` is malformed: {fault}")),
        }
    }

    /// `Bundle.successors`.
    pub(super) fn successors_of_bundle(&mut self, bundle: In<'a, Bundle<'a>>, field: &'a Field<'a>) -> Outcome {
        self.look_at_limits()?;
        let bundles = successors(bundle.it.package(), &Installed::from_bundle(bundle.it), &channels(field));
        self.many(bundles.into_iter().map(|it| bundle.with(it)), field)
    }

    /// `Bundle.upgradePath`.
    pub(super) fn upgrade_path(&mut self, bundle: In<'a, Bundle<'a>>, field: &'a Field<'a>) -> Outcome {
        self.look_at_limits()?;
        let package = bundle.it.package();
        let to = match arguments(field).text("to") {
            Some(name) => package.bundle(name),
            None => default_head(package),
        };
        let path = to.and_then(|to| UpdateGraph::new(package, &channels(field)).path(bundle.it, to));
        let Some(path) = path else {
            self.null();
            return Ok(());
        };
        self.many(path.into_iter().map(|it| bundle.with(it)), field)
    }
}

/// The bundle at the head of the default channel.
fn default_head(package: Package<'_>) -> Option<Bundle<'_>> {
    match package.default_channel()?.head() {
        Head::One(entry) => entry.bundle(),
        Head::None | Head::Several => None,
    }
}

impl<'a> Object<'a> for GraphOf<'_, 'a> {
    type Field = UpdateGraphField;

    fn write(self, name: UpdateGraphField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self(graph) = self;
        match name {
            UpdateGraphField::Nodes => to.many(graph.it.nodes().map(|bundle| graph.with(bundle)), field),
            UpdateGraphField::Edges => {
                let edges = graph.it.edges().filter_map(|edge| {
                    let (from, target) = edge.from_bundle.zip(edge.to.bundle())?;
                    graph.it.has(from).then_some(EdgeOf { edge: graph.with(edge), from, target })
                });
                to.many(edges, field)
            }
        }
    }
}

/// An edge between two bundles of the catalog.
#[derive(Clone, Copy)]
struct EdgeOf<'a> {
    edge: In<'a, UpdateEdge<'a>>,
    from: Bundle<'a>,
    target: Bundle<'a>,
}

impl<'a> Object<'a> for EdgeOf<'a> {
    type Field = UpdateEdgeField;

    fn write(self, name: UpdateEdgeField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self { edge, from, target } = self;
        match name {
            UpdateEdgeField::From => return to.one(edge.with(from), field),
            UpdateEdgeField::To => return to.one(edge.with(target), field),
            UpdateEdgeField::Channel => return to.one(edge.with(edge.it.to.channel()), field),
            UpdateEdgeField::Reason => to.word(edge.it.reason.as_str()),
        }
        Ok(())
    }
}
