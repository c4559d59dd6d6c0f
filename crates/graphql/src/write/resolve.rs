//! `Query.resolve` and what comes of it.

use fbc::resolve::{
    Considered, InstalledBundle, Offer, Rejection, Resolution, ResolutionFailure, ResolutionRequest, UpgradePolicy,
    resolve,
};
use fbc::selector::Selector;
use serde_json::Value;
use serving::{Served, Snapshot};

use super::{Field, In, Object, Outcome, Writer, arguments};
use crate::fields::{ConsideredBundleField, ResolutionFailureField, ResolutionField};

/// A resolution with the catalogs that were offered.
#[derive(Clone, Copy)]
struct Resolved<'r, 'a> {
    served: &'r [&'a Served],
    found: &'r Resolution<'a>,
}

/// A failure with the catalogs that were offered.
#[derive(Clone, Copy)]
struct Failed<'r, 'a> {
    served: &'r [&'a Served],
    failure: &'r ResolutionFailure<'a>,
}

impl<'a> Writer<'a> {
    /// `Query.resolve`.
    pub(super) fn resolution(&mut self, snapshot: &'a Snapshot, field: &'a Field<'a>) -> Outcome {
        self.look_at_limits()?;
        let request = arguments(field).get("request");
        let names = texts(&request["catalogs"]);
        let is_asked = |served: &&Served| names.is_empty() || names.contains(&served.name.as_str());
        let served: Vec<_> = snapshot.by_name().map(|served| &**served).filter(is_asked).collect();
        match pick(request, &served) {
            Ok(found) => self.one(Resolved { served: &served, found: &found }, field),
            Err(failure) => self.one(Failed { served: &served, failure: &failure }, field),
        }
    }
}

fn pick<'a>(request: &Value, served: &[&'a Served]) -> Result<Resolution<'a>, ResolutionFailure<'a>> {
    let text = |key: &str| request[key].as_str();
    let selector = text("selector").map(Selector::parse).transpose()?;
    let installed = Some(&request["installed"]).filter(|installed| installed.is_object());
    let part = |of: &'static str| installed.and_then(|installed| installed[of].as_str());
    let offers: Vec<_> = served
        .iter()
        .map(|served| Offer {
            name: &served.name,
            priority: served.metadata.priority,
            labels: &served.metadata.labels,
            content: Ok(&served.content.catalog),
        })
        .collect();
    let request = ResolutionRequest {
        package: text("packageName").unwrap_or_default(),
        version: text("version").unwrap_or_default(),
        channels: &texts(&request["channels"]),
        selector: selector.as_ref(),
        installed: installed.map(|_| InstalledBundle {
            name: part("name").unwrap_or_default(),
            version: part("version").unwrap_or_default(),
            release: part("release"),
        }),
        policy: match text("upgradeConstraintPolicy") {
            Some("SELF_CERTIFIED") => UpgradePolicy::SelfCertified,
            _ => UpgradePolicy::CatalogProvided,
        },
        ..ResolutionRequest::default()
    };
    resolve(&request, &offers)
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn considered<'r, 'a>(
    served: &'r [&'a Served],
    considered: &'r [Considered<'a>],
) -> impl Iterator<Item = In<'a, Considered<'a>>> {
    considered.iter().map(|it| In { served: served[it.offer], it: *it })
}

impl<'a> Object<'a> for Resolved<'_, 'a> {
    type Field = ResolutionField;

    fn write(self, name: ResolutionField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self { served, found } = self;
        match name {
            ResolutionField::Bundle => to.one(In { served: served[found.offer], it: found.bundle }, field),
            ResolutionField::Deprecations => to.many(found.deprecations.iter().copied(), field),
            ResolutionField::Considered => to.many(considered(served, &found.considered), field),
        }
    }
}

impl<'a> Object<'a> for Failed<'_, 'a> {
    type Field = ResolutionFailureField;

    fn write(self, name: ResolutionFailureField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self { served, failure } = self;
        match name {
            ResolutionFailureField::Code => to.word(failure.code.as_str()),
            ResolutionFailureField::Message => to.text(&failure.message),
            ResolutionFailureField::Considered => return to.many(considered(served, &failure.considered), field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for In<'a, Considered<'a>> {
    type Field = ConsideredBundleField;

    fn write(self, name: ConsideredBundleField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            ConsideredBundleField::Bundle => return to.one(self.with(self.it.bundle), field),
            ConsideredBundleField::Rejection => to.maybe_text(self.it.rejection.map(Rejection::as_str)),
        }
        Ok(())
    }
}
