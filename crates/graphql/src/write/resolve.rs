//! `Query.resolve`, `Resolution` and `ResolutionFailure`.

use fbc::Package;
use fbc::similar::similar_names;
use fbc::work::{Work, WorkStopped};
use fbc_grammar::selector::Selector;
use fbc_graph::resolve::{
    Considered, FailureCode, InstalledBundle, Offer, Rejection, Resolution, ResolutionFailure,
    ResolutionRequest, UpgradePolicy, resolve,
};
use serde_json::Value;
use serving::{Served, Snapshot};

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{ConsideredBundleField, ResolutionFailureField, ResolutionField};
use crate::filter;

/// The type `Resolution`, with the catalogs that were considered.
#[derive(Clone, Copy)]
struct ResolutionObject<'r, 'a> {
    served: &'r [&'a Served],
    resolution: &'r Resolution<'a>,
}

/// The type `ResolutionFailure`, with the catalogs that were considered.
#[derive(Clone, Copy)]
struct ResolutionFailureObject<'r, 'a> {
    served: &'r [&'a Served],
    failure: &'r ResolutionFailure<'a>,
    package: &'a str,
}

impl<'a> ResponseWriter<'a> {
    /// `Query.resolve`.
    pub(super) fn resolution(
        &mut self,
        snapshot: &'a Snapshot,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let request = arguments(field).get("request");
        let served = selected(snapshot, &filter::texts(&request["catalogs"]));
        match resolve_request(request, &served, self.work)? {
            Ok(resolution) => self.object(
                ResolutionObject {
                    served: &served,
                    resolution: &resolution,
                },
                field,
            ),
            Err(failure) => {
                let package = request["packageName"].as_str().unwrap_or_default();
                self.object(
                    ResolutionFailureObject {
                        served: &served,
                        failure: &failure,
                        package,
                    },
                    field,
                )
            }
        }
    }
}

/// Returns the catalogs that a request names; all if it names none.
pub(super) fn selected<'a>(snapshot: &'a Snapshot, names: &[&str]) -> Vec<&'a Served> {
    let is_selected = |served: &&Served| names.is_empty() || names.contains(&served.name.as_str());
    snapshot
        .by_name()
        .map(|served| &**served)
        .filter(is_selected)
        .collect()
}

/// Resolves a `ResolutionRequest` over some catalogs.
fn resolve_request<'a>(
    request: &Value,
    served: &[&'a Served],
    work: &Work<'_>,
) -> Result<Result<Resolution<'a>, ResolutionFailure<'a>>, WorkStopped> {
    let text = |key: &str| request[key].as_str();
    let selector = match text("selector").map(Selector::parse).transpose() {
        Ok(selector) => selector,
        Err(error) => return Ok(Err(error.into())),
    };
    let platform = match filter::platform(&request["compatibleWith"]) {
        Ok(platform) => platform,
        Err(error) => return Ok(Err(error.into())),
    };
    let installed = Some(&request["installed"]).filter(|installed| installed.is_object());
    let part = |key: &'static str| installed.and_then(|installed| installed[key].as_str());
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
        channels: &filter::texts(&request["channels"]),
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
        platform,
        ..ResolutionRequest::default()
    };
    resolve(&request, &offers, work)
}

fn considered<'r, 'a>(
    served: &'r [&'a Served],
    considered: &'r [Considered<'a>],
) -> impl Iterator<Item = InCatalog<'a, Considered<'a>>> {
    considered.iter().map(|item| InCatalog {
        served: served[item.offer],
        item: *item,
    })
}

impl<'a> Object<'a> for ResolutionObject<'_, 'a> {
    type Field = ResolutionField;

    fn write(
        self,
        name: ResolutionField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self { served, resolution } = self;
        match name {
            ResolutionField::Bundle => writer.object(
                InCatalog {
                    served: served[resolution.offer],
                    item: resolution.bundle,
                },
                field,
            ),
            ResolutionField::Deprecations => {
                writer.object_list(resolution.deprecations.iter().copied(), field)
            }
            ResolutionField::Considered => {
                writer.object_list(considered(served, &resolution.considered), field)
            }
        }
    }
}

impl<'a> Object<'a> for ResolutionFailureObject<'_, 'a> {
    type Field = ResolutionFailureField;

    fn write(
        self,
        name: ResolutionFailureField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self {
            served,
            failure,
            package,
        } = self;
        match name {
            ResolutionFailureField::Code => writer.static_string(failure.code.as_str()),
            ResolutionFailureField::Message => writer.string(&failure.message),
            ResolutionFailureField::Considered => {
                return writer.object_list(considered(served, &failure.considered), field);
            }
            ResolutionFailureField::SimilarNames
                if failure.code == FailureCode::PackageNotFound =>
            {
                let names = served
                    .iter()
                    .flat_map(|served| served.content.catalog.packages().map(Package::name));
                writer.strings(similar_names(package, names, writer.work)?);
            }
            ResolutionFailureField::SimilarNames => writer.strings([]),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InCatalog<'a, Considered<'a>> {
    type Field = ConsideredBundleField;

    fn write(
        self,
        name: ConsideredBundleField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            ConsideredBundleField::Bundle => {
                return writer.object(self.with(self.item.bundle), field);
            }
            ConsideredBundleField::Rejection => {
                writer.optional_string(self.item.rejection.map(Rejection::as_str));
            }
        }
        Ok(())
    }
}
